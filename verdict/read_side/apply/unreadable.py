"""Archived events that cannot be read: their aggregates are held there, the others go on; pure."""

from collections.abc import Iterable
from dataclasses import replace

from verdict.read_side.apply.batch import Delivery, UnreadableRecord
from verdict.read_side.projections.builder import unreadable
from verdict.read_side.projections.projection import Applied, Gap
from verdict.read_side.tables.blocked import Held


def sound(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """Return the deliveries but for those that cannot be read, and are known to be whose."""
    return [one for one in deliveries if _event_of(one) is None]


def with_damaged(applied: Applied, held: Held, deliveries: Iterable[Delivery]) -> Applied:
    """Return what became of a batch, with a gap at each event of `deliveries` that is not sound."""
    gaps = {gap.key: gap for gap in applied.gaps}
    for delivery in deliveries:
        event = _event_of(delivery)
        if event is None:
            continue
        key, version = event[:2], event[2]
        needed = applied.reached.get(key, held[key].version_needed - 1) + 1
        if version < needed:
            continue  # Kafka brought it once more
        gap = gaps.get(key, Gap(*key, needed, version))
        gap = replace(gap, version_seen=max(gap.version_seen, version))
        if version == needed:
            gap = replace(gap, fault=unreadable(delivery))
        gaps[key] = gap
    return replace(applied, gaps=[*gaps.values()])


def _event_of(delivery: Delivery) -> tuple[str, str, int] | None:
    record = delivery.record
    return record.event if isinstance(record, UnreadableRecord) else None
