"""What verdict writes, to bytes and back: events, responses, rejections, dead letters, markers."""

from functools import cache
from typing import TypeVar

from schemas.dead_letter import DeadLetter
from schemas.marker import Marker
from schemas.message import Event
from schemas.recorded_event import RecordedEvent
from schemas.registry import event_types
from schemas.response import Rejection, Response
from schemas.source import Source
from schemas.wire.codec import codec

Record = TypeVar("Record", Response, Rejection, DeadLetter, Marker)

SUBJECTS: dict[type, str] = {
    Response: "response",
    Rejection: "rejection",
    DeadLetter: "dead_letter",
    Marker: "marker",
}


def encode(record: Response | Rejection | DeadLetter | Marker) -> bytes:
    """Return the framed bytes of `record`; equal records give equal bytes."""
    return codec(SUBJECTS[type(record)]).encode(record)


def decode(kind: type[Record], value: bytes) -> Record:
    """Return the record of `kind` in `value`, whichever version of its schema wrote it.

    Raises:
        Undecodable: The bytes are something else, or damaged.
    """
    found = codec(SUBJECTS[kind]).decode(value)
    if "source" in found:
        found["source"] = Source(**found["source"])
    return kind(**found)


def encode_event(event: RecordedEvent) -> bytes:
    """Return the framed bytes of `event`; equal events give equal bytes."""
    return codec(f"{event.aggregate_type}_event").encode(event)


def decode_event(aggregate_type: str, value: bytes) -> RecordedEvent:
    """Return the event in `value`.

    Raises:
        Undecodable: The bytes are no event of `aggregate_type`, or damaged.
        ValidationError: The event breaks the rules that its class states today.
    """
    found = codec(f"{aggregate_type}_event").decode(value)
    name, payload = found["payload"]
    found["payload"] = _event_type(aggregate_type, name).model_validate(payload)
    found["source"] = Source(**found["source"])
    return RecordedEvent(**found)


@cache
def _event_type(aggregate_type: str, fullname: str) -> type[Event]:
    return event_types(aggregate_type)[fullname.rpartition(".")[2]]
