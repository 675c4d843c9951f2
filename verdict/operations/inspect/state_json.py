"""A state as it is told to people and programs, by whatever verb, page or address."""

from typing import Any

from verdict.model.message import iso_time
from verdict.model.source import Source
from verdict.wire.json import readable, readable_fields
from verdict.write_side.decide.snapshot import Snapshot


def state_json(
    aggregate_type: str, aggregate_id: str, snapshot: Snapshot[Any], place: Source | None
) -> dict[str, Any]:
    """Return what an aggregate is, or was, as JSON would have it; nothing of it is masked."""
    return {
        "aggregate_type": aggregate_type,
        "aggregate_id": aggregate_id,
        "version": snapshot.version,
        "life_cycle": snapshot.life_cycle.value,
        "decided_at": iso_time(snapshot.decided_at) if place else None,
        "position": place and readable(place),
        "state": snapshot.state and readable_fields(snapshot.state),
    }
