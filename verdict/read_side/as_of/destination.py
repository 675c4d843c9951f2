"""What is exported: a record per row, then the completion record; and where it goes."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import Reader
from verdict.errors import VerdictError
from verdict.model.message import Fields
from verdict.read_side.as_of.resolving import ResolvedPosition
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.json_lines import json_line
from verdict.wire.topics import Topics

COMPLETION_KEY = "verdict:materialised"
ROWS_PER_S = 5_000  # that are surely published; a transaction gets that much longer


class ExportRecord(NamedTuple):
    """A row, or the completion: its key as text, and its JSON in one line without its end."""

    key: str
    line: bytes


@dataclass(frozen=True)
class Export:
    """The rows of a view that does not change any more, and the completion record.

    `blocked` names the aggregates whose rows are those from before the event that blocks them.
    """

    reader: Reader
    view: str
    key: tuple[str, ...]
    resolved: ResolvedPosition
    blocked: tuple[str, ...] = ()

    def values(self) -> Iterator[dict[str, Any]]:
        """Yield the columns of each row."""
        order = ", ".join(f'"{column}"' for column in self.key)
        selected = self.reader.select(f'SELECT * FROM "{self.view}" ORDER BY {order}')
        for values in selected.rows:
            yield dict(zip(selected.columns, values, strict=True))

    def rows(self) -> Iterator[ExportRecord]:
        for row in self.values():
            key = [row[column] for column in self.key]
            text = json.dumps(key, ensure_ascii=False) if len(key) > 1 else str(key[0])
            yield ExportRecord(text, json_line(row))

    @cached_property
    def completion(self) -> Fields:
        """What the completion record says; the checksum is SHA-256 over the lines of all rows."""
        count, digest = 0, sha256()
        for record in self.rows():
            count += 1
            digest.update(record.line + b"\n")
        shown, checksum = self.resolved.shown, digest.hexdigest()
        about: Fields = {"as_of": shown, "count": count, "checksum": checksum}
        return about | ({"blocked": [*self.blocked]} if self.blocked else {})

    def records(self) -> Iterator[ExportRecord]:
        """Yield the rows, then the completion record."""
        completion = json_line(self.completion)
        yield from self.rows()
        yield ExportRecord(COMPLETION_KEY, completion)


class Destination(Protocol):
    """Takes all records or none of them."""

    def check(self) -> None:
        """Fail before the work is done when it would be for nothing."""

    def write(self, export: Export) -> bool:
        """Write the records; return whether they were not there already."""


class FileDestination:
    """A file of lines, which is written under another name and then renamed."""

    def __init__(self, path: Path, ours: Iterable[Path] = ()) -> None:
        if not path.name:  # such as `/` and `.`
            raise VerdictError(f"{path} is a folder: name the file in it")
        self._path = path
        self._ours = [one.resolve() for one in ours]
        self._new = path.with_name(f".{path.name}.{os.getpid()}.new")

    def check(self) -> None:
        """Fail when the folder does not take a file of that name, or the file is the service's."""
        whole = self._path.resolve()
        if any(whole.is_relative_to(one) for one in self._ours):
            raise VerdictError(
                f"{self._path} is in a folder of the service's own data, which this would "
                "replace: name a file elsewhere with --to"
            )
        try:
            if self._path.is_dir():
                raise VerdictError(f"{self._path} is a folder: name the file in it")
            self._new.touch()
            self._new.unlink()
        except OSError as error:
            raise self._refused(error) from error

    def write(self, export: Export) -> bool:
        """Replace the file, on the disk."""
        try:
            with self._new.open("wb") as file:
                file.writelines(record.line + b"\n" for record in export.records())
                file.flush()
                os.fsync(file.fileno())
            self._new.replace(self._path)
        except OSError as error:
            raise self._refused(error) from error
        finally:
            self._new.unlink(missing_ok=True)
        return True

    def _refused(self, error: OSError) -> VerdictError:
        return VerdictError(
            f"{self._path} cannot be written ({error}): name another file with --to, or make it "
            "possible; what was there is unchanged"
        )


class StdoutDestination:
    """Prints the lines; the completion record at the end says that they are complete."""

    def check(self) -> None:
        pass

    def write(self, export: Export) -> bool:
        for record in export.records():
            sys.stdout.write(record.line.decode() + "\n")
        return True


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic of somebody else; the completion record is the last record of its one transaction."""

    name: str
    kafka: KafkaConfig
    log: KafkaLog
    topics: Topics

    def check(self) -> None:
        """Fail when there is no such topic, or when it is one of ours."""
        if self.name in {topic.name for topic in self.topics.all()}:
            raise VerdictError(
                f"{self.name} is a topic of verdict itself, which projections are built from: "
                "name another one with --to"
            )
        if not self.log.exists(self.name):
            raise VerdictError(
                f"{self.kafka} has no topic {self.name}: create it with the partitions and the "
                "retention that its readers need, then try again"
            )

    def write(self, export: Export) -> bool:
        """Publish the records together, unless the topic's last completion record is the same.

        So a run whose end was in doubt can be repeated: it is there once.
        """
        seconds = self.kafka.transaction_timeout_s + export.completion["count"] / ROWS_PER_S
        kafka = replace(self.kafka, transaction_timeout_s=seconds)
        # its initialisation ends what a former run left open, so the completion can be believed
        transactions = Transactions(kafka, self.topics.transactional_id(f"export.{self.name}"))
        try:
            if self._last_completion() == json_line(export.completion):
                return False
            transactions.begin()
            for record in export.records():
                transactions.produce(self.name, record.key.encode(), record.line)
            transactions.flush()
            transactions.commit()
        except TransactionFailedError as broken:
            raise VerdictError(
                f"whether {self.name} has the records now is not known ({broken}): run the same "
                "again, which writes them only if they are not there"
            ) from broken
        except BaseException:
            transactions.abandon()
            raise
        finally:
            transactions.close()
        return True

    def _last_completion(self) -> bytes | None:
        key = COMPLETION_KEY.encode()
        kept = self.log.bounds(self.log.places([self.name]))  # it may have got more meanwhile
        found = [
            self.log.last(place, span, lambda message: message.key() == key)
            for place, span in kept.items()
        ]
        completions = [message for message in found if message is not None]
        last = max(completions, key=lambda message: message.timestamp()[1], default=None)
        return None if last is None else last.value()
