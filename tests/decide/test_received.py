"""Sound commands, as people and our clients write them."""

import json

import pytest

from commands.order import CancelOrder, ModifyOrder
from tests.decide.desk import (
    CANCELLING,
    PLACING,
    as_json,
    well_formed,
)
from tests.model import Record
from tests.traffic import START, in_avro
from verdict.wire.avro.writer import write_text


def test_a_command_in_json_is_read_as_people_write_it() -> None:
    value = (
        b'{"command_id": "c-17", "aggregate_id": "order-1", "expected_version": 1, '
        b'"payload": {"type": "ModifyOrder", "quantity": 5}}'
    )

    received = well_formed(Record("order.commands", 0, 0, START, b"order-1", value))

    assert received.payload == ModifyOrder(quantity=5)
    assert (received.envelope.command_id, received.envelope.expected_version) == ("c-17", 1)
    assert received.envelope.correlation_id == "c-17"


@pytest.mark.parametrize("expected", [0, "ANY", "NO_STREAM", "EXISTS", 2**63 - 1])
def test_avro_and_json_of_one_command_are_the_same_command(expected: int | str) -> None:
    envelope = {
        "command_id": "c-é",
        "aggregate_id": "order-1",
        "expected_version": expected,
        "deadline": START + 5,
        "correlation_id": "flow",
        "causation_id": "cause",
        "actor": "ada",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "issued_at": START,
        "payload": PLACING,
    }
    avro = Record("order.commands", 0, 0, START, b"order-1", in_avro("order", envelope))
    in_json = avro._replace(value=json.dumps(envelope).encode())

    one, other = well_formed(avro), well_formed(in_json)

    assert one.digest == other.digest
    assert one.payload == other.payload
    assert one.envelope == other.envelope
    assert one.envelope.expected_version == expected


@pytest.mark.parametrize(
    ("written", "millis"),
    [
        ("2026-11-21T12:00:00Z", 1_795_262_400_000),
        ("2026-11-21T12:00:00.25Z", 1_795_262_400_250),
        ("2026-11-21T14:00:00+02:00", 1_795_262_400_000),
        ("2026-11-21T12:00:00.000999Z", 1_795_262_400_000),
        (1_795_262_400_000, 1_795_262_400_000),
        (0, 0),
        ("1970-01-01T00:00:00Z", 0),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        (None, None),
    ],
)
def test_times_are_iso_8601_or_epoch_milliseconds(written: object, millis: int | None) -> None:
    received = well_formed(as_json(CANCELLING, deadline=written, issued_at=written))

    assert received.envelope.deadline == millis


@pytest.mark.parametrize("text", ["two\nlines", " ", "\t", "客", "😀", "e\u0301", "\x7f", "\u2028"])
def test_every_text_but_the_empty_one_and_one_with_nul_is_a_text(text: str) -> None:
    received = well_formed(as_json(CANCELLING | {"cause": text}, command_id=text, actor=text))

    assert received.payload == CancelOrder(cause=text)
    assert received.envelope.command_id == text
    assert received.envelope.actor == b"\2" + write_text(text)


def test_ids_may_have_128_and_256_characters_whatever_their_bytes() -> None:
    received = well_formed(
        as_json(
            CANCELLING,
            key=("客" * 256).encode(),
            command_id="客" * 128,
            aggregate_id="客" * 256,
        )
    )

    assert len(received.envelope.command_id) == 128
    assert len(received.envelope.aggregate_id) == 256


def test_the_last_of_two_equal_names_in_json_counts() -> None:
    value = (as_json(CANCELLING).value or b"").replace(b'"c-1"', b'"c-0", "command_id": "c-2"')

    received = well_formed(as_json(CANCELLING)._replace(value=value))

    assert received.envelope.command_id == "c-2"
