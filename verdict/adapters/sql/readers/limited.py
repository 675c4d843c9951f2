"""The first rows of a query of somebody whom nobody knows: few, and not large."""

from dataclasses import dataclass
from typing import Any

from verdict.adapters.sql.readers.selected import Selected

CELL = 4_000  # characters of a value
BYTES = 1_000_000  # of an answer, about
CUT = "\u2026"


@dataclass(frozen=True, slots=True)
class LimitedRows:
    """The first rows, values cut to `CELL`; `more` tells whether there are others."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool


def limit_rows(answer: Selected, most: int) -> LimitedRows:
    """Read rows until they are so many, or so large together."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for row in answer.rows:
        if len(rows) == most or size > BYTES:
            return LimitedRows(answer.columns, rows, True)
        rows.append(tuple(map(_cut, row)))
        size += sum(map(_size, rows[-1]))
    return LimitedRows(answer.columns, rows, False)


def _cut(value: Any) -> Any:
    if isinstance(value, bytes):
        value = value[: CELL // 2 + 1].hex()
    return value if _size(value) <= CELL else value[:CELL] + CUT


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str) else 8
