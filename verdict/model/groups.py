"""`Groups`, a projection of one row per group: counts, totals and extremes of its members.

A member is the row of an aggregate; the row before and after an event gives the groups that it
leaves and enters. A group is shown while it has members.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from verdict.model.aggregate import InvalidApplicationError
from verdict.model.recorded_event import RecordedEvent
from verdict.model.rows import EvolveByType, FieldType, Row, require_fields

MEMBERS = "member_count"  # a hidden column


@dataclass(frozen=True)
class Key:
    """The column of the group."""

    about: str


@dataclass(frozen=True)
class Count:
    """How many members have these values; without any, how many members there are."""

    about: str
    where: Mapping[str, Any]


@dataclass(frozen=True)
class Total:
    """The sum of a field over the members."""

    field: str
    about: str


@dataclass(frozen=True)
class AnyOf:
    """Whether a field of at least one member is true, or above 0."""

    field: str
    about: str


@dataclass(frozen=True)
class Extreme:
    """The least or the greatest value of a field; None where all members have None."""

    field: str
    about: str
    greatest: bool


key, total, any_of = Key, Total, AnyOf  # as an author writes them
GroupColumn = Key | Count | Total | AnyOf | Extreme
Counted = Count | Total | AnyOf


def count(about: str, /, **where: object) -> Count:
    """Show how many members there are, or how many have these values: `active=True`."""
    return Count(about, where)


def minimum(field: str, about: str) -> Extreme:
    """Show the least value of a field; the engine keeps an index for it."""
    return Extreme(field, about, greatest=False)


def maximum(field: str, about: str) -> Extreme:
    """Show the greatest value of a field; the engine keeps an index for it."""
    return Extreme(field, about, greatest=True)


@dataclass(frozen=True)
class Groups(Generic[Row]):
    """One row per group of aggregates.

    Args:
        row: The named tuple of an aggregate.
        evolve: (row before, event) → row after, or one such function per aggregate type.
        by: Row → its group, None for none; pure.
        columns: The columns of the view in their order; one is the `key`.
        feed: The comment of a view `<name>_change` with each group that begins and ends, numbered
            without gaps. None: no such view.
        leaves_behind: (row, event) → a row that stays for good in the group that `row` leaves;
            pure. None: nothing stays.

    Raises:
        InvalidApplicationError: A column names a field that is not there, or one of another type.
    """

    row: type[Row]
    evolve: EvolveByType[Row]
    by: Callable[[Row], str | None]
    columns: Mapping[str, GroupColumn]
    feed: str | None = None
    leaves_behind: Callable[[Row, RecordedEvent[Any]], Row] | None = None

    def __post_init__(self) -> None:
        if sum(isinstance(column, Key) for column in self.columns.values()) != 1:
            raise InvalidApplicationError(
                f"groups of {self.row.__name__} need one column that is the `key`"
            )
        if MEMBERS in self.columns:
            raise InvalidApplicationError(
                f"{MEMBERS!r} is a column of the engine: take another name"
            )
        if self.feed is not None and self.leaves_behind is not None:
            raise InvalidApplicationError(
                f"groups of {self.row.__name__} have a feed and leave members behind: such a group "
                "never ends, so leave one of the two out"
            )
        wanted = [*self._fields_of_columns()]
        fields = require_fields(self.row, (name for name, _ in wanted))
        for name, types in wanted:
            if types and fields[name].type not in types:
                raise InvalidApplicationError(
                    f"field {name!r} of {self.row.__name__} is of the type {fields[name].type}: "
                    f"a column that shows its total or extreme needs {' or '.join(types)}"
                )
        for one in self.columns.values():
            if isinstance(one, Total | AnyOf) and fields[one.field].optional:
                raise InvalidApplicationError(
                    f"field {one.field!r} of {self.row.__name__} is summed up, so it cannot be "
                    "None: drop `| None`, and write 0 instead"
                )

    @property
    def key(self) -> str:
        """The name of the column of the group."""
        return next(name for name, column in self.columns.items() if isinstance(column, Key))

    @property
    def counted(self) -> Mapping[str, Counted]:
        """The sums per group, by column; one of them counts all members."""
        found = {name: one for name, one in self.columns.items() if isinstance(one, Counted)}
        if any(isinstance(one, Count) and not one.where for one in found.values()):
            return found
        return {**found, MEMBERS: Count("How many members it has.", {})}

    @property
    def extremes(self) -> Mapping[str, Extreme]:
        """The columns that the engine reads again from the members."""
        return {name: one for name, one in self.columns.items() if isinstance(one, Extreme)}

    def _fields_of_columns(self) -> Iterator[tuple[str, tuple[FieldType, ...]]]:
        """Yield the fields that columns name, and their allowed types; () for any."""
        for column in self.columns.values():
            match column:
                case Count(where=where):
                    yield from ((name, ()) for name in where)
                case Total(field=field):
                    yield field, ("integer",)
                case AnyOf(field=field):
                    yield field, ("integer", "boolean")
                case Extreme(field=field):
                    yield field, ("integer", "time", "text")
                case Key():
                    pass
