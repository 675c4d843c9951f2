"""What is handed over: one record per row, in the order of their keys, and then the completion."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from verdict.adapters.sql.readers.reader import Reader
from verdict.read_side.as_of.moment import ResolvedPosition
from verdict.wire.json_lines import json_line

COMPLETION_KEY = "verdict:materialised"


class ExportRecord(NamedTuple):
    """A row, or the completion: its key as text, and its JSON in one line without its end."""

    key: str
    line: bytes


@dataclass(frozen=True, slots=True)
class ExportContent:
    """The rows of a view that does not change any more."""

    reader: Reader
    view: str
    key: tuple[str, ...]

    def rows(self) -> Iterator[ExportRecord]:
        """Yield a record per row."""
        for row in self.values():
            yield ExportRecord(self._key(row), json_line(row))

    def values(self) -> Iterator[dict[str, Any]]:
        """Yield the columns of each row."""
        order = ", ".join(f'"{column}"' for column in self.key)
        selected = self.reader.select(f'SELECT * FROM "{self.view}" ORDER BY {order}')
        for values in selected.rows:
            yield dict(zip(selected.columns, values, strict=True))

    def _key(self, row: dict[str, Any]) -> str:
        values = [row[column] for column in self.key]
        return str(values[0]) if len(values) == 1 else json.dumps(values, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class CompletionRecord:
    """A content and its completion record.

    `checksum` is SHA-256 in hex over the lines of all rows, each with the line feed at its end.
    """

    content: ExportContent
    count: int
    checksum: str
    completion: ExportRecord

    def records(self) -> Iterator[ExportRecord]:
        """Yield the rows, then the completion record."""
        yield from self.content.rows()
        yield self.completion


def completion_record(content: ExportContent, resolved: ResolvedPosition) -> CompletionRecord:
    """Count the rows and sum them up; the same rows as of the same give the same bytes."""
    count, digest = 0, sha256()
    for record in content.rows():
        count += 1
        digest.update(record.line + b"\n")
    checksum = digest.hexdigest()
    completion = {"as_of": resolved.shown, "count": count, "checksum": checksum}
    return CompletionRecord(
        content, count, checksum, ExportRecord(COMPLETION_KEY, json_line(completion))
    )
