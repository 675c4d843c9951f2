"""Records that become dead letters, and what they say."""

import json
import re
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from pydantic import field_serializer, field_validator

from aggregates.order import order
from commands.order import CancelOrder, PlaceOrder
from compose.application import app
from tests.application import encode_command, receive
from tests.decide.desk import (
    CANCELLING,
    ORDER_AVRO,
    POSITION_AVRO,
    as_json,
    command_record,
    letter,
    well_formed,
)
from tests.wire.examples import ENVELOPE
from verdict.wire.catalog import catalog_of
from verdict.wire.dead_letter import DeadLetter
from verdict.write_side.decide import parse as received

SOUND = as_json(CANCELLING).value or b""
NOBODY_TO_ANSWER = (
    "it cannot be answered: "
    "a command needs a command_id of 1 to 128 and an aggregate_id of 1 to 256 characters, no NUL"
)


@pytest.mark.parametrize(
    "value",
    [
        b"", b"garbage", b"\0", b"\0\0\0\0", b"\xff" * 100, b"null", b"[]", b' {"a": 1}',
        b"\xef\xbb\xbf{}", b"{", b"{}", b'{"a": 1} {"b": 2}', b'{"a": NaN}', b'{"a": Infinity}',
        b'{"a": "\xff"}', b'{"a": 01}', b"{'a': 1}", b'{"a": 1,}', b'{"a": "\x01"}',
        b'{"a": ' + b"9" * 10_000 + b"}", b'{"a": "\\ud800"}', b'{"a": "\\ude00"}',
    ],
)  # fmt: skip
def test_garbage_is_kept_as_a_dead_letter(value: bytes) -> None:
    assert letter(value).error


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (b" " + SOUND, "the value begins with a blank or a line break: send JSON from the first {"),
        (b"\r\n" + SOUND, "the value begins with a blank or a line break"),
        (b"\xef\xbb\xbf" + SOUND, "the value begins with a byte order mark: send JSON without"),
        (SOUND.decode().encode("utf-16"), "the value is text in UTF-16 or UTF-32"),
        (SOUND.decode().encode("utf-16-le"), "the value is text in UTF-16 or UTF-32"),
        (json.dumps(SOUND.decode()).encode(), "the value is a JSON string that contains JSON"),
        (b"[%s]" % SOUND, "the value is a JSON array: send each command as a record of its own"),
        (ORDER_AVRO[:5] + SOUND, "JSON follows a Confluent header (a zero byte and a 4-byte"),
        (b"\0\0\0\0\x63" + SOUND, "JSON follows a Confluent header"),
        (b"\0\0\0\0\x63{", "schema id 99 is unknown here"),
        (b" \xff", "value has no Confluent header"),
        (b"\0\0\0\0\x63" + ORDER_AVRO[5:],
         "schema id 99 is unknown here (newer, or of another application)"),
        (POSITION_AVRO, "schema id 7 is position_command, not order_command"),
        (b"\0\0\0\0\x06" + ORDER_AVRO[5:], "schema id 6 is order_event, not order_command"),
        (ORDER_AVRO + b"xyz", "3 bytes are left over behind the order_command record"),
    ],
)  # fmt: skip
def test_the_error_leads_to_the_mistake(value: bytes, error: str) -> None:
    assert letter(value).error.startswith(error)


def test_a_record_without_a_value_or_with_a_key_that_is_no_text_is_a_dead_letter() -> None:
    assert letter(None).error == "record has no value"
    assert letter(None, None).bytes is None
    assert letter(b"garbage", b"\xff\xfe").key == b"\xff\xfe"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("command_id", value)
        for value in (None, 5, "", "a\0b", "x" * 129, ["c-1"], {"c": 1}, True, 1.5)
    ]
    + [("aggregate_id", value) for value in (None, 5, "", "a\0b", "x" * 257, ["order-1"], True)],
)
def test_without_two_usable_ids_a_command_cannot_be_answered(name: str, value: Any) -> None:
    error = letter(as_json(CANCELLING, **{name: value}).value).error

    assert error == NOBODY_TO_ANSWER


def test_a_command_that_is_cut_anywhere_is_a_dead_letter() -> None:
    for length in range(5, len(ORDER_AVRO)):
        assert letter(ORDER_AVRO[:length]).error.startswith("Avro body does not fit schema 5")


def test_a_value_over_the_limit_keeps_its_beginning_its_length_and_its_hash() -> None:
    value = SOUND + b" " * (64 * 1024 - len(SOUND))
    assert well_formed(as_json(CANCELLING)._replace(value=value)).payload == CancelOrder()
    whole = value + b" "

    received = receive(
        "order", command_record(as_json(CANCELLING)._replace(value=whole, timestamp=-1))
    )

    assert isinstance(received, DeadLetter)
    assert received.error == f"value has {len(whole)} bytes, more than a command may have"
    assert (received.bytes, received.length) == (value, len(whole))
    assert (received.sha256, received.received_at) == (sha256(whole).digest(), 0)


class Fragile(CancelOrder):
    """A command in whose class there is a bug."""

    @field_validator("cause")
    @classmethod
    def _checked(cls, cause: str | None) -> str | None:
        return {"bug": None}[cause or "none"]


class Unspeakable(CancelOrder):
    """A command that cannot be shown in canonical JSON."""

    @field_serializer("cause")
    def _shown(self, cause: str | None) -> object:
        return {1, 2}


@pytest.mark.proves("C-10")
@pytest.mark.parametrize("as_avro", [True, False])
@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (Fragile, r"KeyError: 'slow' \(tests/decide/test_dead_letters\.py, line \d+\)"),
        (Unspeakable, r"TypeError: .*set.* \(verdict/write_side/decide/digest\.py, line \d+\)"),
    ],
)
def test_a_command_that_a_bug_keeps_from_being_read_stops_no_other(
    broken: type[CancelOrder], error: str, as_avro: bool
) -> None:
    kind: Any = type("CancelOrder", (broken,), {"__module__": __name__})
    rules = replace(order, commands=PlaceOrder | kind)
    shop = replace(
        app,
        aggregates=(rules,),
        policies=(),
        notifications=(),
        inbound=(),
        projections=(),
        lake=None,
    )
    record = as_json({"type": "CancelOrder", "cause": "slow"})
    if as_avro:
        value = encode_command("order", ENVELOPE, CancelOrder(cause="slow"))
        record = record._replace(key=ENVELOPE.aggregate_id.encode(), value=value)

    found = received.parse_command(catalog_of(shop)["order"], command_record(record))

    assert isinstance(found, DeadLetter)
    assert re.fullmatch(f"a bug in reading it: {error}", found.error), found.error
    assert found.bytes == record.value
