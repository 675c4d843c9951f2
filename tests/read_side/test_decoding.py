"""Records of Kafka become events, outcomes and states, or say why they cannot."""

from hashlib import sha256
from itertools import starmap

import pytest

from schemas.share_holding import ShareHolding
from tests.application import APPLICATION, encode_event
from tests.kit.log import AN_EVENT, opened
from tests.read_side.responses import ACCEPTED, REJECTED
from verdict.read_side.apply.batch import Delivery, StateChange, UnreadableRecord
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.builtin.rows import answered
from verdict.wire.records import encode
from verdict.wire.topics import Topics

EVENT = AN_EVENT._replace(event_id="e-1", aggregate_id="p-1", version=1, decided_at=5)
Sent = tuple[str, int, int, bytes | None, bytes | None]


def decode(*sent: Sent) -> list[Delivery]:
    return [*starmap(RecordDecoder(Topics(APPLICATION)).delivery, sent)]


def test_events_and_responses_are_decoded_by_their_topics() -> None:
    deliveries = decode(
        ("position.events", 0, 7, b"p-1", encode_event(EVENT)),
        ("order.responses", 1, 8, b"order-1", encode(REJECTED)),
    )

    assert deliveries == [
        Delivery("position.events", 0, 7, EVENT, value=encode_event(EVENT)),
        Delivery("order.responses", 1, 8, answered(encode(REJECTED))),
    ]


HOLDING = b'{"id": "1", "client": "ada", "ticker": "FB", "amount": 33, "exchange": "NYSE", "x": 1}'


def test_a_carried_state_is_read_from_json_whatever_else_is_in_it() -> None:
    deliveries = decode(("share-holders", 1, 3, b"1", HOLDING), ("share-holders", 1, 4, b"1", None))

    ada = ShareHolding(id="1", client="ada", ticker="FB", amount=33, exchange="NYSE")
    assert deliveries == [
        Delivery("share-holders", 1, 3, StateChange("1", ada)),
        Delivery("share-holders", 1, 4, StateChange("1", None)),
    ]


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        (b"1", b'{"id": "1",', "ValidationError: Invalid JSON"),
        (b"1", b"", "ValidationError: Invalid JSON"),
        (b"1", HOLDING.replace(b"33", b"0"), "greater than 0"),
        (b"1", HOLDING.replace(b"33", b"33.0"), "valid integer"),
        (b"1", HOLDING.replace(b"33", b'"33"'), "valid integer"),
        (b"1", HOLDING.replace(b'"id": "1"', b'"id": 1'), "valid string"),
        (b"1", HOLDING.replace(b"ticker", b"stock"), "Field required"),
        (b"1", HOLDING.replace(b"ada", b"\\ud800"), "ValidationError: Invalid JSON"),
        (b"1", b"[" * 10_000, "ValidationError: Invalid JSON"),
        (b"2", HOLDING, "the state is that of '1', its key is '2'"),
    ],
)
def test_a_state_that_cannot_be_decoded_keeps_its_key_and_says_why(
    key: bytes, value: bytes, error: str
) -> None:
    [delivery] = decode(("share-holders", 1, 3, key, value))

    assert isinstance(delivery.record, StateChange)
    assert delivery.record.key == key.decode()
    assert isinstance(delivery.record.value, UnreadableRecord)
    assert error in delivery.record.value.error


LONG = b"x" * 257


@pytest.mark.proves("H-02")
@pytest.mark.parametrize(
    ("key", "name"),
    [
        (b"\xff", "no id: 0xff"),
        (b"a\0b", "no id: 0x610062"),
        (b"", "no id: 0x"),
        (b"no id: 0xff", "no id: 0x6e6f2069643a2030786666"),
        (LONG, f"no id: SHA-256 {sha256(LONG).hexdigest()}"),
    ],
)
def test_a_key_that_is_no_id_has_a_name_that_no_id_has(key: bytes, name: str) -> None:
    state, closing = decode(
        ("share-holders", 1, 3, key, HOLDING), ("share-holders", 1, 4, key, None)
    )

    assert isinstance(state.record, StateChange)
    assert state.record.key == name
    assert isinstance(state.record.value, UnreadableRecord)
    assert state.record.value.error == f"ValueError: the key {key!r} is no id"
    assert closing.record == StateChange(name, None)


@pytest.mark.parametrize(
    ("topic", "key", "value", "error"),
    [
        ("share-holders", None, HOLDING, "the record has no key"),
        ("share-holders", None, None, "the record has no key"),
        ("position.events", b"p-1", None, "ValueError: the record has no value"),
        ("position.events", b"p-1", b"garbage", "DecodeError: value has no Confluent header"),
        ("position.events", b"p-1", encode_event(EVENT)[:-1], "DecodeError: Avro body does not"),
        ("order.events", b"p-1", encode_event(EVENT), "DecodeError: schema id 8 is position_event"),
        ("position.responses", b"order-1", encode(ACCEPTED), "is of order 'order-1', its place"),
        ("position.events", b"p-2", encode_event(EVENT), "that of position b'p-2'"),
        ("position.events", None, encode_event(EVENT), "that of position None"),
    ],
)
def test_what_cannot_be_decoded_says_why(
    topic: str, key: bytes | None, value: bytes | None, error: str
) -> None:
    (delivery,) = decode((topic, 0, 3, key, value))

    assert delivery[:3] == (topic, 0, 3)
    assert isinstance(delivery.record, UnreadableRecord)
    assert error in delivery.record.error


def test_an_event_that_breaks_the_rules_of_its_class_is_undecodable() -> None:
    never = opened("ada").model_copy(update={"amount": -1})

    (delivery,) = decode(
        ("position.events", 0, 0, b"p-1", encode_event(EVENT._replace(payload=never)))
    )

    assert isinstance(delivery.record, UnreadableRecord)
    assert "greater than 0" in delivery.record.error


def test_the_error_of_a_state_is_one_line_without_its_values() -> None:
    broken = b'{"id": "1", "client": 5550123, "ticker": "FB", "amount": "much", "exchange": "IEX"}'
    topic = Topics(APPLICATION).named("share-holders")

    [told] = decode((topic, 0, 0, b"1", broken))

    assert isinstance(told.record, StateChange)
    assert told.record.value == UnreadableRecord(
        "ValidationError: client: Input should be a valid string; "
        "amount: Input should be a valid integer"
    )
