"""A read side that is followed as the service does it, whose `us_holder` may have a bug."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from projections.us_holder import Position, evolve, us_holder
from schemas.position import PositionTransferred
from tests.application import APPLICATION
from tests.kit.databases import NOW, ReadSide, Rows
from tests.kit.log import EventLog, opened
from verdict.model.application import Application
from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.repair.blocked_aggregates import BlockedAggregates
from verdict.operations.repair.operator import OperatorIdentity
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.catalog import projections
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Projection
from verdict.read_side.projections.row_projection import RowProjection
from verdict.wire.topics import Topics

BAD = PositionTransferred(client="mallory")
BY = OperatorIdentity("ada", "it was mistyped")


def failing_holder(
    fails: Callable[[Event], bool],
    version: int = 1,
    problem: str = "a\0bug",
    note: Callable[[RecordedEvent], object] = id,
) -> RowProjection[Position]:
    """Return `us_holder` with a bug; it notes the events that it takes."""

    def buggy(row: Position | None, event: RecordedEvent[Any]) -> Position | None:
        if fails(event.payload):
            raise ZeroDivisionError(problem)
        note(event)
        return evolve(row, event)

    return replace(compile_projection(us_holder, version), evolve=buggy)


def with_holder(url: str, us_holder: Projection) -> ReadSide:
    """Return a read side with this `us_holder` and all other projections."""
    others = [p for p in projections(APPLICATION) if p.name != us_holder.name]
    return ReadSide(url, [*others, us_holder])


class Followed:
    """The archive and `us_holder` of a running service."""

    def __init__(self, read_side: ReadSide, log: EventLog) -> None:
        self.read_side = read_side
        self.log = log
        self.archive = read_side.applier("event_archive")
        self.holder = read_side.applier("us_holder")

    def batch(self) -> ProjectionBatch:
        """Apply what came, and return it."""
        batch = self.log.batch()
        for applier in (self.archive, self.holder):
            applier.apply(batch)
        return batch

    def restart(self) -> None:
        """Let the service start again; the first batch is an empty one."""
        self.holder = self.read_side.applier("us_holder")
        self.holder.apply(ProjectionBatch([], {}))


class Holding(Followed):
    """A service whose `us_holder` cannot take one client, and an operator at another connection.

    Args:
        url: Of an empty database.
    """

    def __init__(self, url: str) -> None:
        self.seen: list[RecordedEvent] = []  # as `us_holder` took them
        super().__init__(with_holder(url, self.us_holder(1)), EventLog(partitions=2))
        self._operators = self.read_side.open()
        self.operator = self._operator(APPLICATION)

    def _operator(self, application: Application) -> BlockedAggregates:
        return BlockedAggregates(application, self._operators, {"us_holder": self.us_holder})

    def us_holder(self, version: int) -> RowProjection[Position]:
        """Return `us_holder` with the bug."""

        def fails(payload: Event) -> bool:
            return getattr(payload, "client", None) == BAD.client

        return failing_holder(fails, version, "mallory", lambda event: self.seen.append(event))

    def happen(self, name: str, *payloads: Event) -> None:
        """Let these events happen, and the service apply them."""
        self.log.add(name, *payloads)
        self.batch()

    def batch(self) -> ProjectionBatch:
        """Apply what came, without being stopped."""
        batch = super().batch()
        assert not self.holder.is_stopped
        return batch

    def hold(self, name: str, *behind: Event) -> None:
        """Let an event that cannot be applied happen, and others behind it, one a batch."""
        self.happen(name, opened("ada"))
        self.happen(name, BAD)
        for payload in behind:
            self.happen(name, payload)

    def waiting(self) -> dict[str, int]:
        """Return address → how many wait behind it."""
        return {item["id"]: item["behind"] for item in self.operator.listed()}

    def taken(self, name: str) -> list[int]:
        """Return the versions of an aggregate as `us_holder` took them."""
        return [event.version for event in self.seen if event.aggregate_id == name]

    def interventions(self, columns: Sequence[str]) -> Rows:
        """Return what a reader sees of them, in their order."""
        return self.read_side.select(
            f"SELECT {', '.join(columns)} FROM projection_intervention ORDER BY seq"
        )

    def beside(self) -> Applier:
        """Return who brings a version forward that readers do not see."""
        second = self.us_holder(2)
        return Applier(
            self.read_side.engine,
            second,
            Topics(APPLICATION),
            lambda: NOW,
            live=False,
            missing=missing_events,
        )

    def close(self) -> None:
        """Let go of the database."""
        self._operators.dispose()
        self.read_side.close()
