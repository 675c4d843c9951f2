"""Records of verdict to bytes and back."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from pydantic import ValidationError

from verdict.model.command import LifeCycle
from verdict.model.command_envelope import Expectation
from verdict.model.message import Event, Fields
from verdict.model.reason import Reason
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.wire.avro.writer import write_bytes
from verdict.wire.catalog import AggregateContext
from verdict.wire.codec import HEADER_BYTES, DecodeError, engine_codec, prefix_of
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.progress_record import ProgressRecord, ShardState
from verdict.wire.response import Rejection, Response, Status
from verdict.wire.schemas.files import ENGINE
from verdict.wire.skip_record import DamagedAggregate, Kind, SkipRecord

Record = TypeVar("Record", Response, Rejection, DeadLetter, SkipRecord, ProgressRecord)

NAMED: tuple[tuple[str, Mapping[str, StrEnum]], ...] = tuple(
    (name, {str(member): member for member in kind})
    for name, kind in (
        ("status", Status),
        ("reason", Reason),
        ("expected_version", Expectation),
        ("actual_state", LifeCycle),
    )
)
SUBJECTS: dict[type, str] = {
    Response: "response",
    Rejection: "rejection",
    DeadLetter: "dead_letter",
    SkipRecord: "skip_record",
    ProgressRecord: "progress_record",
}


def encode(record: Response | Rejection | DeadLetter | SkipRecord | ProgressRecord) -> bytes:
    """Return the framed bytes of `record`; equal records give equal bytes."""
    return engine_codec(SUBJECTS[type(record)]).encode(record)


def rejected_with(response: bytes, command: bytes) -> bytes:
    """Return the rejection of a response: its bytes, and those of the command."""
    prefix = prefix_of(ENGINE.newest(SUBJECTS[Rejection]))
    return prefix + response[HEADER_BYTES:] + write_bytes(command)


def decode(kind: type[Record], value: bytes) -> Record:
    """Return the record in `value`, of any version of its schema; raises `DecodeError`."""
    return _made(kind, engine_codec(SUBJECTS[kind]).decode(value))


def response_fields(value: bytes) -> Fields:
    """Return the fields of a response as Avro has them: faster; raises `DecodeError`."""
    found = engine_codec(SUBJECTS[Response]).decode(value)
    for name, members in NAMED:
        text = found[name]
        if text.__class__ is str and text not in members:
            _made(Response, found)  # raises with a message
    return found


def decode_response(value: bytes) -> Response:
    """Return the response in `value`; of a newer verdict the part that is known here.

    The schema of responses only grows at its end. Other bytes raise `DecodeError`.
    """
    return _made(Response, engine_codec(SUBJECTS[Response]).decode(value, newer=True))


def encode_event(context: AggregateContext, event: RecordedEvent) -> bytes:
    """Return the framed bytes of `event`; equal events give equal bytes."""
    return context.events.encode(event)


def decode_event(context: AggregateContext, value: bytes) -> RecordedEvent:
    """Return the event in `value`; raises `DecodeError` or `ValidationError`."""
    if (sound := context.read_event(value)) is not None:
        return sound
    # of an older schema, or wrong: then the codec raises
    found = context.events.decode(value)
    name, payload = found["payload"]
    return _around(found, context.event_type(name).model_validate(payload))


def event_around(context: AggregateContext, payload: Event, value: bytes) -> RecordedEvent:
    """Return the event in `value`, which this process wrote of `payload`."""
    return _around(context.events.decode(value), payload)


def _around(found: Fields, payload: Event) -> RecordedEvent:
    return RecordedEvent(**found | {"payload": payload, "source": Source(**found["source"])})


def _made(kind: type[Record], found: Fields) -> Record:
    if "source" in found:
        found["source"] = Source(**found["source"])
    if kind is Response and _named(found):
        return kind.trusted(found)
    if kind is SkipRecord:
        _name_kind(found)
    if "shard_states" in found:
        found["shard_states"] = [ShardState(**one) for one in found["shard_states"]]
    try:
        return kind(**found)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field, problem = ".".join(map(str, fault["loc"])), fault["msg"]
        raise DecodeError(
            f"{field} of this {SUBJECTS[kind]} is {fault['input']!r}: {problem}"[:500]
        ) from error


def _name_kind(found: Fields) -> None:
    """Give a decision its kind and its aggregate as their classes; raises `DecodeError`."""
    if found["kind"] not in Kind.__members__:
        known = ", ".join(Kind)
        raise DecodeError(f"kind of this skip record is {found['kind']!r}: known are {known}")
    found["kind"] = Kind[found["kind"]]
    if found["aggregate"] is not None:
        found["aggregate"] = DamagedAggregate(**found["aggregate"])


def _named(found: Fields) -> bool:
    """Replace texts of a response by their enums; return False if one is unknown."""
    try:
        for name, members in NAMED:
            text = found[name]
            if text.__class__ is str:
                found[name] = members[text]
    except KeyError:  # of a newer release
        return False
    return True
