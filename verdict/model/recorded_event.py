"""An event as on `<aggregate>.events`."""

from typing import Generic, NamedTuple

from typing_extensions import TypeVar
from uuid_utils import UUID, uuid5

from verdict.model.message import Event, Hash, Instant
from verdict.model.source import Source

EVENT_IDS = UUID("6f1c3c52-6a0b-5d0c-9d55-0c7b6a4f7e11")  # never changes: ids derive from it


Payload = TypeVar("Payload", bound=Event, covariant=True, default=Event)


class RecordedEvent(NamedTuple, Generic[Payload]):
    """One event with its metadata; `RecordedEvent[THIS | THAT]` limits its payload.

    `version` counts the aggregate's events from 1 without a gap; `index` (from 0) and `count` those
    of one command. `decided_at` never decreases within an aggregate. `previous_hash` is the SHA-256
    of the value of the aggregate's previous event record, empty for the first.
    """

    event_id: str
    aggregate_type: str
    aggregate_id: str
    version: int
    index: int  # type: ignore[assignment]  # a tuple has methods of these names
    count: int  # type: ignore[assignment]
    command_id: str
    command_digest: Hash
    correlation_id: str
    causation_id: str
    actor: str | None
    traceparent: str | None
    decided_at: Instant
    source: Source
    handler_version: str
    previous_hash: Hash
    payload: Payload


def event_id(aggregate_type: str, aggregate_id: str, version: int) -> str:
    """Return the id of an event, which follows from its aggregate and version (UUIDv5)."""
    return str(uuid5(EVENT_IDS, f"{aggregate_type}\0{aggregate_id}\0{version}"))
