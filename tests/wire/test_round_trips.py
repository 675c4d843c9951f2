from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.order import ModifyOrder
from tests.application import (
    APPLICATION,
    CATALOG,
    codec,
    decode_command,
    decode_event,
    encode_command,
    encode_event,
)
from tests.wire.arbitrary import (
    AGGREGATES,
    DEAD_LETTERS,
    PROGRESS_RECORDS,
    RECORDED_EVENTS,
    REJECTIONS,
    RESPONSES,
    commands,
    envelopes,
)
from tests.wire.examples import ENVELOPE, EXAMPLES, PROGRESS, RESPONSE, Example
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.wire.codec import DecodeError
from verdict.wire.records import decode, encode
from verdict.wire.response import Response


@given(st.one_of(RESPONSES, REJECTIONS, DEAD_LETTERS, PROGRESS_RECORDS))
def test_a_record_survives_its_bytes(record: Any) -> None:
    value = encode(record)

    assert decode(type(record), value) == record
    assert encode(decode(type(record), value)) == value


@given(RECORDED_EVENTS)
def test_an_event_survives_its_bytes(event: RecordedEvent) -> None:
    found = decode_event(event.aggregate_type, encode_event(event))

    assert found == event
    assert type(found.payload) is type(event.payload)


def by_its_fields(aggregate_type: str, value: bytes) -> RecordedEvent:
    """Read an event as one of an older schema is read: by the names of its fields."""
    fields = codec(f"{aggregate_type}_event").decode(value)
    name, payload = fields["payload"]
    kind = APPLICATION.aggregate(aggregate_type).event_types[name.rpartition(".")[2]]
    source, checked = Source(**fields["source"]), kind.model_validate(payload)
    return RecordedEvent(**fields | {"source": source, "payload": checked})


@given(RECORDED_EVENTS, st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=2))
def test_a_damaged_event_is_read_or_refused_as_by_its_fields(
    event: RecordedEvent, edits: list[tuple[int, int]]
) -> None:
    edited = bytearray(encode_event(event))
    for at, byte in edits:
        edited[at % len(edited)] = byte
    damaged = bytes(edited)
    assert outcome_of(decode_event, event, damaged) == outcome_of(by_its_fields, event, damaged)


def outcome_of(
    read: Callable[[str, bytes], RecordedEvent], event: RecordedEvent, value: bytes
) -> RecordedEvent | tuple[type, str]:
    try:
        return read(event.aggregate_type, value)
    except ValueError as error:
        return type(error), str(error)


@given(AGGREGATES.flatmap(lambda name: st.tuples(st.just(name), envelopes(), commands(name))))
def test_a_command_survives_its_bytes(sent: tuple[str, CommandEnvelope, Command]) -> None:
    aggregate_type, envelope, payload = sent

    found = decode_command(aggregate_type, encode_command(aggregate_type, envelope, payload))

    fields = {"type": type(payload).__name__, **payload.model_dump()}
    assert found == envelope.model_dump() | {"payload": fields}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_record_that_is_cut_or_has_bytes_left_over_is_never_read(example: Example) -> None:
    value = example.encode(example.record)

    for length in range(len(value)):
        with pytest.raises(DecodeError):
            example.decode(value[:length])
    with pytest.raises(DecodeError, match="1 bytes are left over"):
        example.decode(value + b"\0")


@given(st.sampled_from(EXAMPLES), st.binary())
def test_any_bytes_behind_the_frame_are_read_or_refused(example: Example, body: bytes) -> None:
    frame = example.encode(example.record)[:5]
    subject = CATALOG.schemas.by_id[int.from_bytes(frame[1:], "big")].subject

    try:
        found: object = codec(subject).decode(frame + body)
    except DecodeError:
        return
    assert isinstance(found, dict)


def test_one_kind_of_record_is_not_read_as_another() -> None:
    with pytest.raises(DecodeError, match=r"schema id \d+ is progress_record, not response"):
        decode(Response, encode(PROGRESS))
    with pytest.raises(DecodeError, match=r"schema id \d+ is response, not order_event"):
        decode_event("order", encode(RESPONSE))


@pytest.mark.parametrize("quantity", ["five", 2**63, 1.5, b"5"])
def test_a_field_that_does_not_fit_its_schema_is_not_written(quantity: Any) -> None:
    bad = ModifyOrder.model_construct(quantity=quantity, limit_price_cents=None)

    with pytest.raises((ValueError, TypeError)):
        encode_command("order", ENVELOPE, bad)
