"""Events as the decider writes them: without a gap, a chain of hashes, one per second; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.model.source import Source
from verdict.wire.catalog import AggregateContext, Catalog
from verdict.wire.records import decode_event, encode_event
from verdict.wire.stored_event import StoredEvent

START = 1_767_268_800_000  # 2026-01-01T12:00:00Z, in epoch milliseconds
STEP_MS = 1000


@dataclass(frozen=True)
class GivenHistory:
    """Events of one aggregate in their order; made by `happened`."""

    aggregate_id: str
    events: tuple[Event, ...]


def happened(aggregate_id: str, *events: Event) -> GivenHistory:
    """Return events of an aggregate, for `given`."""
    return GivenHistory(aggregate_id, events)


def recorded(
    catalog: Catalog, history: Sequence[StoredEvent], aggregate_id: str, payload: Event, at: int
) -> StoredEvent:
    """Return the next event of an aggregate as the decider writes it."""
    context = catalog.of(type(payload))
    aggregate_type, given = context.name, f"given-{len(history)}"
    last = latest(history).get((aggregate_type, aggregate_id))
    version = 1 if last is None else last.event.version + 1
    event = RecordedEvent(
        event_id=event_id(aggregate_type, aggregate_id, version),
        aggregate_type=aggregate_type,
        aggregate_id=aggregate_id,
        version=version,
        index=0,
        count=1,
        command_id=given,
        command_digest=sha256(str(len(history)).encode()).digest(),
        correlation_id=given,
        causation_id=given,
        actor=None,
        traceparent=None,
        decided_at=at,
        source=Source(f"{aggregate_type}.commands", 0, len(history)),
        handler_version="1",
        previous_hash=b"" if last is None else sha256(last.value).digest(),
        payload=payload,
    )
    stored = StoredEvent(event, encode_event(context, event))
    require_lossless(context, stored)
    return stored


def require_lossless(context: AggregateContext, stored: StoredEvent) -> None:
    """Raise unless the bytes of an event give it back: an old schema loses fields."""
    payload = stored.event.payload
    try:
        found: object = decode_event(context, stored.value).payload
    except ValueError as error:
        found = error
    if found != payload:
        raise AssertionError(
            f"{payload!r} is kept as {found!r}: its class and its schema are not the same, run "
            "`verdict schemas write`"
        )


def latest(history: Sequence[StoredEvent]) -> Mapping[tuple[str, str], StoredEvent]:
    """Return the last event of each aggregate, by type and id."""
    return {(one.event.aggregate_type, one.event.aggregate_id): one for one in history}
