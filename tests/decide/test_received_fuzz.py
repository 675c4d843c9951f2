"""Whatever bytes come, they are read as one of three things, and the model agrees which."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.application import APPLICATION, CATALOG, encode_command, receive
from tests.decide.desk import command_record
from tests.hostile import ABSURD, varint
from tests.model import Record
from tests.model.reading import Asked, Malformed, read
from tests.wire.arbitrary import AGGREGATES, commands, envelopes
from verdict.wire.avro.envelope import sliced
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode, encode
from verdict.wire.response import Response
from verdict.write_side.decide.parse import MalformedCommand, ReceivedCommand, parse_slowly
from verdict.write_side.decide.respond import invalid_response

KEYS = st.none() | st.binary(max_size=10) | st.just(b"a")
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["ANY", "a", "PlaceOrder", "CancelOrder", "ClosePosition", "BUY"])
)  # fmt: skip
NAMES = st.sampled_from(
    [
        "command_id", "aggregate_id", "expected_version", "deadline", "correlation_id", "payload",
        "type", "client", "ticker", "side", "quantity", "limit_price_cents", "cause", "amount", "x",
    ]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=12,
)
ENVELOPES = st.fixed_dictionaries(
    {"command_id": SCALARS | st.just("c"), "aggregate_id": st.just("a"), "payload": VALUES},
    optional={
        "expected_version": SCALARS,
        "deadline": SCALARS,
        "correlation_id": SCALARS,
        "actor": SCALARS,
    },
)
AVRO = AGGREGATES.flatmap(
    lambda name: st.builds(encode_command, st.just(name), envelopes(), commands(name))
)


def read_by_both(aggregate_type: str, key: bytes | None, value: bytes | None) -> None:
    """Read a record, hold the kind of result against the model's, and encode what is answered."""
    record = Record(f"{aggregate_type}.commands", 0, 0, 1, key, value)
    arrived = command_record(record)
    received = receive(aggregate_type, arrived)
    modelled = read(aggregate_type, record)
    if value is not None and not arrived.cut:  # as if it had come in another form
        assert received == parse_slowly(CATALOG[aggregate_type], arrived, value)
    match received:
        case DeadLetter():
            assert modelled is None
            assert decode(DeadLetter, encode(received)) == received
        case MalformedCommand():
            assert isinstance(modelled, Malformed)
            assert (received.reason, received.command_type) == (
                modelled.reason,
                modelled.command_type,
            )
            response = invalid_response(CATALOG[received.aggregate_type], received)
            assert decode(Response, encode(response)) == response
        case ReceivedCommand():
            assert isinstance(modelled, Asked)
            assert received.digest == modelled.digest
            assert received.envelope.deadline == modelled.deadline
            assert received.envelope.correlation_id == modelled.correlation_id


@given(AGGREGATES, KEYS, st.none() | st.binary())
def test_arbitrary_bytes_are_contained(
    aggregate_type: str, key: bytes | None, value: bytes | None
) -> None:
    read_by_both(aggregate_type, key, value)


@given(AGGREGATES, st.integers(0, 9), st.binary())
def test_arbitrary_bytes_behind_a_schema_id_are_contained(
    aggregate_type: str, schema_id: int, body: bytes
) -> None:
    read_by_both(aggregate_type, b"a", schema_id.to_bytes(5, "big") + body)


@given(AGGREGATES, st.binary())
def test_arbitrary_bytes_behind_a_brace_are_contained(aggregate_type: str, body: bytes) -> None:
    read_by_both(aggregate_type, b"a", b"{" + body)


@given(AGGREGATES, ENVELOPES)
@example("order", {"command_id": "c", "aggregate_id": "a", "payload": {"type": "CancelOrder"}})
def test_any_json_object_is_read_as_the_model_reads_it(
    aggregate_type: str, envelope: dict[str, Any]
) -> None:
    read_by_both(aggregate_type, b"a", json.dumps(envelope).encode())


@given(AGGREGATES, ENVELOPES, st.data())
def test_json_with_one_changed_byte_is_read_as_the_model_reads_it(
    aggregate_type: str, envelope: dict[str, Any], data: st.DataObject
) -> None:
    read_by_both(aggregate_type, b"a", changed(json.dumps(envelope).encode(), data))


@given(AVRO, st.data())
def test_avro_with_one_changed_byte_is_contained(value: bytes, data: st.DataObject) -> None:
    for aggregate_type in APPLICATION.aggregate_types:
        read_by_both(aggregate_type, b"a", changed(value, data))


@pytest.mark.proves("C-11")
@given(AVRO, st.data())
def test_avro_with_absurd_lengths_and_counts_is_contained(
    value: bytes, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(5, len(value)))
        number = data.draw(st.sampled_from(ABSURD) | st.integers(-(2**63), 2**63 - 1))
        value = value[:at] + varint(number) + value[at + data.draw(st.integers(0, 1)) :]
    for aggregate_type in APPLICATION.aggregate_types:
        read_by_both(aggregate_type, b"a", value)


@given(AGGREGATES.flatmap(lambda name: st.tuples(st.just(name), envelopes(), commands(name))))
def test_an_integer_that_takes_more_bytes_than_it_needs_is_handed_on_as_our_writers_write_it(
    sent: tuple[str, Any, Any],
) -> None:
    aggregate_type, envelope, payload = sent
    value, key = encode_command(aggregate_type, envelope, payload), envelope.aggregate_id.encode()
    for at in range(5, len(value)):
        spare = bytes([value[at] | 0x80, 0]) if value[at] < 0x80 else value[at : at + 1]
        read_by_both(aggregate_type, key, value[:at] + spare + value[at + 1 :])


@given(AVRO, st.data())
def test_avro_that_ends_too_soon_is_contained(value: bytes, data: st.DataObject) -> None:
    for aggregate_type in APPLICATION.aggregate_types:
        read_by_both(aggregate_type, b"a", value[: data.draw(st.integers(0, len(value) - 1))])


@example("order", ["["], 199, "1", True)
@example("order", ["["], 200, "1", True)
@example("order", ["["], 200, "", True)
@example("order", ["["], 201, "", True)
@given(
    AGGREGATES,
    st.lists(st.sampled_from(["[", '{"a":', '{"payload":']), min_size=1),
    st.integers(1, 10_000),
    st.sampled_from(["1", ""]),
    st.booleans(),
)
def test_json_nested_to_any_depth_is_contained(
    aggregate_type: str, openings: list[str], depth: int, inmost: str, closed: bool
) -> None:
    opened = openings * (1 + depth // len(openings)) if len(openings) > 1 else openings * depth
    closings = "".join("]" if one == "[" else "}" for one in reversed(opened))
    nested = "".join(opened) + inmost + (closings if closed else "")
    envelope = f'{{"command_id": "c", "aggregate_id": "a", "payload": {nested}}}'

    read_by_both(aggregate_type, b"a", envelope.encode()[: 64 * 1024])


@given(AGGREGATES.flatmap(lambda name: st.tuples(st.just(name), envelopes(), commands(name))))
def test_every_valid_command_is_received_as_it_was_sent(sent: tuple[str, Any, Any]) -> None:
    aggregate_type, envelope, payload = sent
    value = encode_command(aggregate_type, envelope, payload)
    key = envelope.aggregate_id.encode()
    record = Record(f"{aggregate_type}.commands", 0, 0, 1, key, value)

    received = receive(aggregate_type, command_record(record))

    assert isinstance(received, ReceivedCommand), received
    assert received.payload == payload
    assert received.envelope == sliced(envelope)


def changed(value: bytes, data: st.DataObject) -> bytes:
    """Return `value` with one byte replaced, put in or taken out."""
    at = data.draw(st.integers(0, len(value) - 1))
    put = data.draw(st.binary(max_size=1))
    take = data.draw(st.integers(0, 1))
    return value[:at] + put + value[at + take :]
