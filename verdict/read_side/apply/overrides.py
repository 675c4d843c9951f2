"""Events that a projection does not take as they are: missing, damaged, edited or skipped ones."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import Connection

from verdict.model.application import Application
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.model.source import Source
from verdict.read_side.apply.batch import Delivery, SkippedEvent, UnreadableRecord
from verdict.read_side.apply.one_by_one import Apply, apply_one_by_one
from verdict.read_side.projections.projection import Applied, Gap, Projection, readable, unreadable
from verdict.read_side.tables import blocked, interventions, position, versions
from verdict.read_side.tables.blocked import AggregateKey, BlockedAggregate, Held
from verdict.read_side.tables.interventions import Amendments, EventKey
from verdict.wire.json import payload_from

MissingEvents = Callable[[Application, Connection, Projection], Sequence[Delivery]]
"""Returns events that blocked aggregates wait for, in the order of versions.

The first one of an aggregate is the one it needs; all are before the projection's position.
"""


class Overridden(NamedTuple):
    """The result of a batch, what was blocked before it, and whether missing events came."""

    applied: Applied
    held: Held
    released: bool


@dataclass
class Overrides:
    """Applies batches while aggregates are blocked, or to a version that readers do not see.

    Operators decide about events that the live version blocks. So the live version needs their
    decisions only while it blocks an aggregate; another one may meet such an event in any batch.

    `tries_again` tells whether events that could not be applied are tried again, as the code may
    have been fixed.
    """

    projection: Projection
    live: bool
    missing: Callable[[Connection, Projection], Sequence[Delivery]]
    held: Held
    tries_again: bool

    @property
    def are_needed(self) -> bool:
        """Whether an event may have to be applied in another way than it came."""
        return bool(self.held) or not self.live

    @property
    def may_continue(self) -> bool:
        """Whether an event that an aggregate waits for may have come."""
        return self.tries_again or any(one.error is None for one in self.held.values())

    def apply(self, connection: Connection, apply: Apply, new: Iterable[Delivery]) -> Overridden:
        """Apply missing events that have come, then the new ones, as operators decided."""
        held = blocked.load(connection, self.projection)  # an operator may have retried one
        if self.tries_again:
            held = blocked.try_again(connection, self.projection, held)
        waits = any(one.error is None for one in held.values())
        in_force = interventions.in_force(connection, self.projection.name)
        found = self.missing(connection, self.projection) if waits else ()
        missing = [*amended(found, in_force)]
        deliveries = [*_undamaged(missing), *amended(new, in_force)]
        applied = apply(connection, [*readable(deliveries)])
        return Overridden(_with_damaged(applied, held, missing), held, bool(missing))


def take_charge(connection: Connection, projection: Projection) -> None:
    """Keep others from changing the projection up to the commit; its position does not move."""
    position.exclude_others(connection, projection)
    versions.check_live(connection, projection)


def try_again(
    connection: Connection,
    projection: Projection,
    key: AggregateKey,
    events: Sequence[Delivery],
    now: int,
) -> BlockedAggregate | None:
    """Apply events that a blocked aggregate waits for, as operators decided."""
    held = {key: blocked.load(connection, projection)[key]}
    events = [*amended(events, interventions.in_force(connection, projection.name))]
    applied = apply_one_by_one(projection, connection, [*readable(_undamaged(events))])
    applied = _with_damaged(applied, held, events)
    return blocked.record(connection, projection, applied, now, held).get(key)


def amended(deliveries: Iterable[Delivery], in_force: Amendments) -> Iterable[Delivery]:
    """Return the deliveries with the payloads that operators put in place of events; pure."""
    return _amended(deliveries, in_force) if in_force else deliveries


def _amended(deliveries: Iterable[Delivery], in_force: Amendments) -> Iterator[Delivery]:
    for delivery in deliveries:
        event = delivery.record
        damaged = _damaged_event(delivery)
        if damaged is not None and in_force.get(damaged, "") is None:
            event = _skipped(damaged)
        if isinstance(event, RecordedEvent):
            yield from _skipped_before(delivery, event, in_force)
            key = event.aggregate_type, event.aggregate_id, event.version
            if key in in_force:
                delivery = delivery._replace(record=_replaced(event, in_force[key]))
        yield delivery


def _skipped_before(
    delivery: Delivery, event: RecordedEvent, in_force: Amendments
) -> Iterator[Delivery]:
    """Yield placeholders for the skipped versions right before an event, which may never come.

    If one comes too, it is a second event of that version, which is ignored.
    """
    aggregate, first = (event.aggregate_type, event.aggregate_id), event.version
    while in_force.get((*aggregate, first - 1), "") is None:
        first -= 1
    for version in range(first, event.version):
        yield delivery._replace(record=event._replace(version=version, payload=SkippedEvent()))


def _replaced(event: RecordedEvent, payload: str | None) -> RecordedEvent | UnreadableRecord:
    if payload is None:
        return event._replace(payload=SkippedEvent())
    try:
        return event._replace(payload=payload_from(type(event.payload), payload))
    except ValueError as error:  # the rules of its class have changed
        return UnreadableRecord(f"what replaces it does not fit any more: {error}")


def _skipped(of: EventKey) -> RecordedEvent:
    aggregate_type, aggregate_id, version = of
    return RecordedEvent(
        event_id(*of), aggregate_type, aggregate_id, version,
        index=0, count=1, command_id="", command_digest=b"", correlation_id="", causation_id="",
        actor=None, traceparent=None, decided_at=0, source=Source("", 0, 0), handler_version="",
        previous_hash=b"", payload=SkippedEvent(),
    )  # fmt: skip


def _damaged_event(delivery: Delivery) -> EventKey | None:
    record = delivery.record
    return record.event if isinstance(record, UnreadableRecord) else None


def _undamaged(deliveries: Iterable[Delivery]) -> list[Delivery]:
    return [one for one in deliveries if _damaged_event(one) is None]


def _with_damaged(applied: Applied, held: Held, deliveries: Iterable[Delivery]) -> Applied:
    """Return the result of a batch, with a gap at each damaged event of `deliveries`."""
    gaps = {gap.key: gap for gap in applied.gaps}
    for delivery in deliveries:
        event = _damaged_event(delivery)
        if event is None:
            continue
        key, version = event[:2], event[2]
        needed = applied.reached.get(key, held[key].version_needed - 1) + 1
        if version < needed:
            continue  # Kafka delivered it once more, undamaged
        gap = gaps.get(key, Gap(*key, needed, version))
        gap = replace(gap, version_seen=max(gap.version_seen, version))
        if version == needed:
            gap = replace(gap, fault=unreadable(delivery))
        gaps[key] = gap
    return replace(applied, gaps=[*gaps.values()])
