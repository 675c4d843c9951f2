"""A batch that the database refuses: its events are applied one by one, each in a savepoint."""

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError

from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.projection import Applied, CannotApplyError, Gap, Projection

MOST_REFUSED = 100  # aggregates of a batch; with more the projection itself must be wrong
BY_DRIVER = (OverflowError, UnicodeError)  # raised before the database has seen the values
LIMIT_EXCEEDED = "54"  # class of SQLSTATE: PostgreSQL works, and will never take this row

Apply = Callable[[Connection, Sequence[Delivery]], Applied]
_Event = tuple[RecordedEvent, Delivery]


def refuses_values(error: BaseException | None) -> bool:
    """Tell whether the values are the cause: no database of this kind can store them."""
    if isinstance(error, DBAPIError):
        state = getattr(error.orig, "sqlstate", None) or ""
        return isinstance(error, DataError | IntegrityError) or state.startswith(LIMIT_EXCEEDED)
    if isinstance(error, StatementError):
        return refuses_values(error.orig)
    return isinstance(error, BY_DRIVER)


def apply_one_by_one(
    projection: Projection, connection: Connection, deliveries: Sequence[Delivery]
) -> Applied:
    """Apply events in the order of their versions; an aggregate is blocked at a refused one.

    With more than `MOST_REFUSED` refused aggregates the last error is raised.
    """
    results: list[Applied] = []
    refused = 0
    for events in _by_aggregate(deliveries).values():
        for event, delivery in events:
            try:
                with connection.begin_nested():
                    results.append(projection.apply(connection, [delivery]))
            except Exception as error:
                refused += 1
                if not refuses_values(error) or refused > MOST_REFUSED:
                    raise
                gap = _refused(event, delivery, error, seen=events[-1][0].version)
                results.append(Applied(gaps=[gap]))
                break
    return _together(results)


def _by_aggregate(deliveries: Sequence[Delivery]) -> Mapping[tuple[str, str], list[_Event]]:
    """Return the events of each aggregate by version."""
    found: dict[tuple[str, str], list[_Event]] = {}
    for delivery in deliveries:
        event = delivery.record
        assert isinstance(event, RecordedEvent), "only projections of events wait for events"
        found.setdefault((event.aggregate_type, event.aggregate_id), []).append((event, delivery))
    for events in found.values():
        events.sort(key=lambda one: one[0].version)
    return found


def _refused(event: RecordedEvent, delivery: Delivery, error: Exception, seen: int) -> Gap:
    cause = getattr(error, "orig", None) or error
    fault = CannotApplyError(
        delivery,
        f"{type(event.payload).__name__}, version {event.version} of {event.aggregate_type} "
        f"{event.aggregate_id!r}: the database cannot store the result: "
        f"{type(cause).__name__}: {' '.join(str(cause).split())}",
    )
    fault.__cause__ = error
    return Gap(event.aggregate_type, event.aggregate_id, event.version, seen, fault)


def _together(results: Sequence[Applied]) -> Applied:
    """Return all results as one; the last one about an aggregate counts."""
    gaps: dict[tuple[str, str], Gap] = {}
    reached: dict[tuple[str, str], int] = {}
    for one in results:
        reached |= one.reached
        for key in one.reached:
            gaps.pop(key, None)
        gaps |= {gap.key: gap for gap in one.gaps}
    applied = sum(one.applied for one in results)
    return Applied(applied, sum(one.skipped for one in results), [*gaps.values()], reached)
