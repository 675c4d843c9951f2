"""What an application keeps in the lake: rows that follow from events, as Parquet files."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source


class LakeColumn(NamedTuple):
    """A column: its name, its type in Spark's SQL, and what it holds."""

    name: str
    type: str
    holds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeTable:
    """A table of the lake.

    Args:
        name: Of the folder that its files are in.
        aggregate_type: Whose events it follows.
        columns: All of them, of the types STRING, INT, BIGINT, DATE and TIMESTAMP.
        partition: The one of them whose values have folders of their own.
        rows: (event, its place) → rows, by column; pure. What is personal stays out.
    """

    name: str
    aggregate_type: str
    columns: tuple[LakeColumn, ...]
    partition: LakeColumn
    rows: Callable[[RecordedEvent, Source], Iterable[Mapping[str, Any]]]
