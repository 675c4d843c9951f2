"""A batch that the database refuses: narrowed down to the events at fault, the others applied."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError

from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.projection import Applied, CannotApplyError, Gap, Projection

MOST_REFUSED = 100  # aggregates of a batch; with more of them it is the projection that is at fault
BY_DRIVER = (OverflowError, UnicodeError)  # before the database has seen the values
LIMIT_EXCEEDED = "54"  # class of SQLSTATE: PostgreSQL works, and will never take this row

Apply = Callable[[Connection, Sequence[Delivery]], Applied]


class _Event(NamedTuple):
    record: RecordedEvent
    delivery: Delivery


def refuses_values(error: BaseException | None) -> bool:
    """Tell whether it is what was to be written that no database of this kind can keep."""
    if isinstance(error, DBAPIError):
        state = getattr(error.orig, "sqlstate", None) or ""
        return isinstance(error, DataError | IntegrityError) or state.startswith(LIMIT_EXCEEDED)
    if isinstance(error, StatementError):
        return refuses_values(error.orig)
    return isinstance(error, BY_DRIVER)


def apply_one_by_one(projection: Projection) -> Apply:
    """Return how the projection applies a batch of which the database refuses a part.

    It takes halves of the aggregates, and of those that fail halves again, each in a savepoint. Of
    an aggregate whose values are refused the events before that one are applied, and it waits at
    fault from there on. With too many of those the last error is raised.
    """

    def apply(connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        return _BisectingApply(connection, projection).run(deliveries)

    return apply


class _BisectingApply:
    def __init__(self, connection: Connection, projection: Projection) -> None:
        self._connection = connection
        self._projection = projection
        self._refused = 0

    def run(self, deliveries: Sequence[Delivery]) -> Applied:
        by_aggregate: dict[tuple[str, str], list[_Event]] = {}
        for delivery in deliveries:
            record = delivery.record
            assert isinstance(record, RecordedEvent), "who waits for events follows nothing else"
            key = record.aggregate_type, record.aggregate_id
            by_aggregate.setdefault(key, []).append(_Event(record, delivery))
        return _together(self._some([*by_aggregate.values()]))

    def _some(self, aggregates: Sequence[Sequence[_Event]]) -> Iterable[Applied]:
        try:
            return [self._attempt([*chain.from_iterable(aggregates)])]
        except Exception as error:
            if not refuses_values(error):
                raise
        if len(aggregates) == 1:
            return [*self._one(sorted(aggregates[0], key=lambda event: event.record.version))]
        middle = len(aggregates) // 2
        return [*self._some(aggregates[:middle]), *self._some(aggregates[middle:])]

    def _one(self, events: Sequence[_Event]) -> Iterable[Applied]:
        """Apply an aggregate's events one by one, up to the one that is refused."""
        for event in events:
            try:
                yield self._attempt([event])
            except Exception as error:
                self._refused += 1
                if not refuses_values(error) or self._refused > MOST_REFUSED:
                    raise
                yield _refused(event, error, events[-1].record.version)
                return

    def _attempt(self, events: Sequence[_Event]) -> Applied:
        with self._connection.begin_nested():
            return self._projection.apply(self._connection, [event.delivery for event in events])


def _refused(event: _Event, error: Exception, seen: int) -> Applied:
    record = event.record
    said = getattr(error, "orig", None) or error
    fault = CannotApplyError(
        event.delivery,
        f"{type(record.payload).__name__}, version {record.version} of {record.aggregate_type} "
        f"{record.aggregate_id!r}: the database cannot keep what comes of it: "
        f"{type(said).__name__}: {' '.join(str(said).split())}",
    )
    fault.__cause__ = error
    gap = Gap(record.aggregate_type, record.aggregate_id, record.version, seen, fault)
    return Applied(gaps=[gap])


def _together(parts: Iterable[Applied]) -> Applied:
    """Return what became of all; the last word on an aggregate counts."""
    applied = skipped = 0
    gaps: dict[tuple[str, str], Gap] = {}
    reached: dict[tuple[str, str], int] = {}
    for part in parts:
        applied, skipped = applied + part.applied, skipped + part.skipped
        reached |= part.reached
        for key in part.reached:
            gaps.pop(key, None)
        gaps |= {gap.key: gap for gap in part.gaps}
    return Applied(applied, skipped, [*gaps.values()], reached)
