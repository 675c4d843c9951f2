"""Commands for `receive`, and what must become of them."""

from hashlib import sha256
from typing import Any

from tests.application import receive
from tests.decision.desk import MODIFY, PLACE, command, command_record
from tests.model import Record
from tests.traffic import START, in_avro
from verdict.model.source import Source
from verdict.wire.dead_letter import DeadLetter
from verdict.write_side.decide.parse import MalformedCommand, ReceivedCommand

PLACING: dict[str, Any] = {"type": "PlaceOrder"} | PLACE.model_dump()
CANCELLING: dict[str, Any] = {"type": "CancelOrder"}
ORDER_AVRO = command(MODIFY, 1, command_id="c-1").record.value or b""
POSITION_AVRO = in_avro(
    "position",
    {
        "command_id": "c-1",
        "aggregate_id": "order-1",
        "expected_version": 1,
        "payload": {"type": "ClosePosition"},
    },
)


def well_formed(record: Record) -> ReceivedCommand:
    """Return what must be a command."""
    received = receive("order", command_record(record))
    assert isinstance(received, ReceivedCommand), received
    return received


def refused(record: Record) -> MalformedCommand:
    """Return what must be readable and unacceptable."""
    received = receive("order", command_record(record))
    assert isinstance(received, MalformedCommand), received
    return received


def letter(value: bytes | None, key: bytes | None = b"order-1") -> DeadLetter:
    """Return the letter that a value must become; its bytes and place are checked."""
    record = command_record(Record("order.commands", 3, 14, START, key, value))
    received = receive("order", record)
    assert isinstance(received, DeadLetter), received
    assert received.source == Source("order.commands", 3, 14)
    assert (received.key, received.bytes) == (key, record.value)
    assert received.length == len(value or b"")
    assert received.sha256 == sha256(value or b"").digest()
    assert received.received_at == START
    return received


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Return `fields` but one."""
    return {other: value for other, value in fields.items() if other != name}
