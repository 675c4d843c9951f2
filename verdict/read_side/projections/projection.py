"""What a projection is to the engine, whichever kind it is of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection, Table

from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.described import View as View
from verdict.wire.topics import Topics

if TYPE_CHECKING:  # it writes down changes that are made of this module's
    from verdict.read_side.projections.change_feed import ChangeFeed


@dataclass(frozen=True, slots=True)
class Gap:
    """An aggregate whose events from `version_needed` on are not applied.

    Those beyond it came without that one; or it came, and `fault` says why it cannot be applied.
    A key whose newest state cannot be applied has one, too: its topic is the type, and a record's
    offset plus 1 the version.
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
    """What became of the records of a batch.

    `skipped` were known already. `gaps` are as the batch left them; the aggregates in `reached`
    stand at that version now and have no gap as far as this batch knows.
    """

    applied: int = 0
    skipped: int = 0
    gaps: Sequence[Gap] = ()
    reached: Mapping[tuple[str, str], int] = field(default_factory=dict)


class Projection(Protocol):
    """A read model: its tables, its views, and how records change them.

    `table` is the first one; its metadata has all of this projection and no others.

    `name` and `version` say whose position it is: another version is built beside this one, with
    tables of its own. `settings` spells what the tables depend on besides the records; tables that
    were built with other settings are refused. `waits_for_events` says whether what it holds waits
    for events, which the archive gives again; else it waits for newer records.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def settings(self) -> str: ...
    @property
    def table(self) -> Table: ...
    @property
    def views(self) -> Mapping[str, View]: ...
    @property
    def feed(self) -> "ChangeFeed | None": ...
    @property
    def sequences(self) -> Sequence[str]: ...
    @property
    def waits_for_events(self) -> bool: ...
    @property
    def tables(self) -> Sequence[Table]:
        """The tables that follow from the records alone, in an order that all versions share."""
        ...

    def topics(self, topics: Topics) -> Sequence[str]:
        """Return the topics that it follows."""
        ...

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Change the tables by new records, inside the transaction of `connection`.

        Raises:
            CannotApplyError: One record is at fault.
        """
        ...


class ProjectionStoppedError(Exception):
    """A projection cannot go on behind this place of the log: topic, partition and offset."""

    def __init__(self, message: str, place: tuple[str, int, int]) -> None:
        super().__init__(message)
        self.place = place


class CannotApplyError(ProjectionStoppedError):
    """A projection cannot go on behind this record."""

    def __init__(self, delivery: Delivery, problem: str) -> None:
        place = delivery.topic, delivery.partition, delivery.offset
        super().__init__(f"record {':'.join(map(str, place))}: {problem}", place)
        self.delivery = delivery
        self.problem = problem
