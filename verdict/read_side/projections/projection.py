"""What a projection is to the engine, whichever kind it is of."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sqlalchemy import Connection, Table

from verdict.read_side.apply.batch import Delivery, UnreadableRecord
from verdict.read_side.projections.documented_view import View as View
from verdict.wire.topics import Topics

if TYPE_CHECKING:  # it records changes that are made of this module's
    from verdict.read_side.projections.change_feed import ChangeFeed


@dataclass(frozen=True, slots=True)
class Gap:
    """An aggregate whose events from `version_needed` on are not applied.

    That one is missing, or `fault` says why it cannot be applied. A key whose newest state cannot
    be applied has a gap too: its topic is the type, the record's offset + 1 the version.
    """

    aggregate_type: str
    aggregate_id: str
    version_needed: int
    version_seen: int
    fault: "CannotApplyError | None" = None

    @property
    def key(self) -> tuple[str, str]:
        """Whose gap it is: type and id."""
        return self.aggregate_type, self.aggregate_id


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of the records of a batch; `skipped` were known already.

    The aggregates in `reached` are at that version now.
    """

    applied: int = 0
    skipped: int = 0
    gaps: Sequence[Gap] = ()
    reached: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Projection(ABC):
    """A projection: its tables, its views, and how records change them.

    The metadata of `table`, the first one, has all tables of this version and no others. `settings`
    spells what the tables depend on besides the records; tables that were built with other settings
    are refused.
    """

    name: str
    version: int
    table: Table
    views: Mapping[str, View]
    settings: str = ""
    feed: "ChangeFeed | None" = None

    @property
    def aggregate_types(self) -> tuple[str, ...]:
        """The types of the aggregates that have a version here."""
        return ()

    @property
    def sequences(self) -> Sequence[str]:
        """The names of the sequences that number rows."""
        return ()

    @property
    def waits_for_events(self) -> bool:
        """Whether blocked aggregates wait for events, which the archive has, or for new records."""
        return False

    @property
    def tables(self) -> Sequence[Table]:
        """The tables that follow from the records alone, in an order that all versions share."""
        return [self.table]

    @abstractmethod
    def topics(self, topics: Topics) -> Sequence[str]:
        """Return the topics that it follows."""

    @abstractmethod
    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Change the tables by new records, inside the transaction of `connection`."""


class ProjectionStoppedError(Exception):
    """A projection cannot go past this position: topic, partition and offset."""

    def __init__(self, message: str, place: tuple[str, int, int]) -> None:
        super().__init__(message)
        self.place = place


class CannotApplyError(ProjectionStoppedError):
    """A projection cannot go past this record."""

    def __init__(self, delivery: Delivery, problem: str) -> None:
        place = delivery.topic, delivery.partition, delivery.offset
        super().__init__(f"record {':'.join(map(str, place))}: {problem}", place)
        self.delivery = delivery
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.delivery, self.problem)


class BuiltRow(NamedTuple):
    """A row of the first table, by the columns of its builder, and the gap of its aggregate."""

    values: tuple[Any, ...] | None
    gap: Gap | None = None


class Builder(Protocol):
    """Makes the rows of a projection's first table from the whole log.

    The records of a key must come together, in the order of their offsets.
    """

    @property
    def columns(self) -> Sequence[str]: ...
    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[BuiltRow]:
        """Yield the rows as they are after all of `deliveries`; those of a few keys are held."""
        ...


class Rebuildable(Projection):
    """A projection whose tables can be made from nothing in one go."""

    @property
    @abstractmethod
    def builder(self) -> Builder:
        """Makes the rows of the first of `tables`."""

    def complete(self, connection: Connection) -> None:
        """Fill the rest of `tables`, which are empty, from the first one, which is complete."""


def readable(deliveries: Iterable[Delivery]) -> Iterator[Delivery]:
    """Yield the deliveries; raise at one that could not be decoded."""
    for delivery in deliveries:
        if isinstance(delivery.record, UnreadableRecord):
            raise unreadable(delivery)
        yield delivery


def unreadable(delivery: Delivery) -> CannotApplyError:
    """Return what a delivery that could not be decoded is for a projection."""
    assert isinstance(delivery.record, UnreadableRecord)
    return CannotApplyError(delivery, f"not readable: {delivery.record.error}")
