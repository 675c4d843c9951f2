"""Sound commands, as people and our clients write them."""

import json

import pytest

from commands.order import CancelOrder
from tests.decide.desk import (
    CANCELLING,
    PLACING,
    as_json,
    well_formed,
)
from tests.model import Record
from tests.traffic import START, in_avro
from verdict.wire.avro.writer import write_text


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
