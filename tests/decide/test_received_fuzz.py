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
from verdict.write_side.decide.parse import ReceivedCommand, parse_slowly

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
SENT = AGGREGATES.flatmap(lambda name: st.tuples(st.just(name), envelopes(), commands(name)))
AVRO = st.builds(lambda sent: encode_command(*sent), SENT)
JSON = ENVELOPES.map(lambda envelope: json.dumps(envelope).encode())


@st.composite
def changed(draw: st.DrawFn, values: st.SearchStrategy[bytes]) -> bytes:
    """Return a value with one byte replaced, put in or taken out."""
    value = draw(values)
    at = draw(st.integers(0, len(value) - 1))
    return value[:at] + draw(st.binary(max_size=1)) + value[at + draw(st.integers(0, 1)) :]


@st.composite
def absurd(draw: st.DrawFn) -> bytes:
    """Return Avro with absurd lengths and counts."""
    value = draw(AVRO)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(5, len(value)))
        number = draw(st.sampled_from(ABSURD) | st.integers(-(2**63), 2**63 - 1))
        value = value[:at] + varint(number) + value[at + draw(st.integers(0, 1)) :]
    return value


@st.composite
def cut_off(draw: st.DrawFn) -> bytes:
    """Return Avro that ends too soon."""
    value = draw(AVRO)
    return value[: draw(st.integers(0, len(value) - 1))]


VALUES_BY_KIND: dict[str, st.SearchStrategy[bytes | None]] = {
    "any bytes": st.none() | st.binary(),
    "behind a schema id": st.builds(
        lambda number, body: number.to_bytes(5, "big") + body, st.integers(0, 9), st.binary()
    ),
    "behind a brace": st.binary().map(lambda body: b"{" + body),
    "JSON": JSON,
    "JSON with a changed byte": changed(JSON),
    "Avro with a changed byte": changed(AVRO),
    "absurd Avro": absurd(),
    "Avro that is cut off": cut_off(),
}


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
        case Response():
            assert isinstance(modelled, Malformed)
            assert (received.reason, received.command_type) == (
                modelled.reason,
                modelled.command_type,
            )
            assert decode(Response, encode(received)) == received
        case ReceivedCommand():
            assert isinstance(modelled, Asked)
            assert received.digest == modelled.digest
            assert received.envelope.deadline == modelled.deadline
            assert received.envelope.correlation_id == modelled.correlation_id


@pytest.mark.proves("C-11")
@pytest.mark.parametrize("kind", VALUES_BY_KIND)
@given(st.data())
def test_whatever_comes_is_read_as_the_model_reads_it(kind: str, data: st.DataObject) -> None:
    value, key = data.draw(VALUES_BY_KIND[kind]), data.draw(st.just(b"a") | KEYS)
    for aggregate_type in APPLICATION.aggregate_types:
        read_by_both(aggregate_type, key, value)


@given(SENT)
def test_an_integer_that_takes_more_bytes_than_it_needs_is_handed_on_as_our_writers_write_it(
    sent: tuple[str, Any, Any],
) -> None:
    aggregate_type, envelope, payload = sent
    value, key = encode_command(aggregate_type, envelope, payload), envelope.aggregate_id.encode()
    for at in range(5, len(value)):
        spare = bytes([value[at] | 0x80, 0]) if value[at] < 0x80 else value[at : at + 1]
        read_by_both(aggregate_type, key, value[:at] + spare + value[at + 1 :])


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


@given(SENT)
def test_every_valid_command_is_received_as_it_was_sent(sent: tuple[str, Any, Any]) -> None:
    aggregate_type, envelope, payload = sent
    value = encode_command(aggregate_type, envelope, payload)
    key = envelope.aggregate_id.encode()
    record = Record(f"{aggregate_type}.commands", 0, 0, 1, key, value)

    received = receive(aggregate_type, command_record(record))

    assert isinstance(received, ReceivedCommand), received
    assert received.payload == payload
    assert received.envelope == sliced(envelope)
