"""Where test commands are written down and decided: the pure write side over a dictionary."""

import json
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

from commands.order import FillOrder, ModifyOrder, PlaceOrder
from commands.position import OpenPosition
from tests.application import APPLICATION, CATALOG, encode_command, receive
from tests.comparison import Published
from tests.model import Model, Record
from tests.model.reading import MAX_COMMAND_BYTES
from tests.traffic import START, Traffic, in_avro
from verdict.model.aggregate import Aggregate
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.source import Source
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.command_record import CommandRecord, truncate_command
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import DecidedCommand, Limits, handle
from verdict.write_side.decide.parse import ReceivedCommand
from verdict.write_side.decide.snapshot import NEVER_EXISTED, Snapshot
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.shard_state import DictState

PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
MODIFY = ModifyOrder(quantity=5)
FILL_ALL = FillOrder(quantity=10, price_cents=150_00)
OPEN = OpenPosition(client="client1", ticker="AAPL", exchange="NASDAQ", amount=100)


def command(
    payload: Command,
    expected_version: int | str = "ANY",
    *,
    offset: int = 0,
    at: int = 0,
    **more: Any,
) -> ReceivedCommand:
    """Return a well-formed command for `order-1`, sent as Avro `at` ms after `START`.

    `offset` makes the command's id, unless `more`, fields of the envelope, have one.
    """
    named = {"command_id": f"c-{offset}", "aggregate_id": "order-1"} | more
    fields = named | {"expected_version": expected_version, "payload": {}}
    envelope = CommandEnvelope.model_validate(fields)
    aggregate_type = APPLICATION.aggregate_of(type(payload))
    value = encode_command(aggregate_type, envelope, payload)
    topic, key = f"{aggregate_type}.commands", envelope.aggregate_id.encode()
    record = Record(topic, 0, offset, START + at, key, value)
    received = receive(aggregate_type, command_record(record))
    assert isinstance(received, ReceivedCommand), received
    return received


def as_json(payload: object, *, key: bytes = b"order-1", **more: Any) -> Record:
    """Return the record of an order command in JSON, for `order-1` unless `more` says otherwise."""
    envelope = {"command_id": "c-1", "aggregate_id": "order-1", "expected_version": "ANY"}
    value = json.dumps(envelope | {"payload": payload} | more)
    return Record("order.commands", 0, 0, START, key, value.encode())


def command_record(record: Record, limit: int = MAX_COMMAND_BYTES) -> CommandRecord:
    """Return a record as the operator gets it: cut at the limit, with the hash of the whole."""
    return truncate_command(Source(*record[:3]), record.timestamp, record.key, record.value, limit)


def judge(
    asked: ReceivedCommand,
    snapshot: Snapshot[Any] = NEVER_EXISTED,
    *,
    earlier: Response | None = None,
    limits: Limits | None = None,
    decider: Aggregate[Any] | None = None,
) -> DecidedCommand:
    """Call `handle` with what a test does not care about filled in."""
    context = CATALOG[asked.aggregate_type]
    if decider is not None:
        context = replace(context, aggregate=decider)
    return handle(context, snapshot, asked, earlier, limits or Limits())


def after(*payloads: Command, at: int = 0) -> Snapshot[Any]:
    """Return what accepted commands, one after the other, make of an aggregate."""
    snapshot: Snapshot[Any] = NEVER_EXISTED
    for offset, payload in enumerate(payloads):
        verdict = judge(command(payload, offset=1000 + offset, at=at), snapshot)
        assert verdict.response.status == "ACCEPTED", verdict.response.message
        snapshot = verdict.snapshot
    return snapshot


def log_of(seed: int, length: int, aggregates: int = 4) -> list[Record]:
    """Return a commands log of every kind of traffic."""
    traffic, model, log = Traffic(Random(seed), aggregates), Model(), list[Record]()
    for _ in range(length):
        log.append(traffic.next(model))
        model.take(log[-1])
    return log


class Answer(NamedTuple):
    """What one record led to: a dead letter, or a response and perhaps events."""

    letter: DeadLetter | None
    response: Response | None


class Desk:
    """Takes records one by one; between two of them only bytes are kept, as in a shard's state."""

    def __init__(self) -> None:
        self._state = DictState()
        self.outputs: list[OutputRecord] = []

    def take(self, record: Record) -> Answer:
        """Read and decide the next record."""
        batch = ShardBatch(Topics(APPLICATION), Limits(), self._state)
        *events, last = batch.decide([command_record(record)])
        batch.commit()
        self.outputs += [*events, last]
        if last.topic == "dead-letters":
            return Answer(decode(DeadLetter, last.value), None)
        return Answer(None, decode(Response, last.value))


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


def refused(record: Record) -> Response:
    """Return the rejection of a command that is readable and invalid."""
    received = receive("order", command_record(record))
    assert isinstance(received, Response), received
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


def placed(outputs: list[OutputRecord]) -> list[Published]:
    """Return outputs as topics of one partition would hold them."""
    return [
        Published(output.topic, 0, offset, output.key, output.value)
        for offset, output in enumerate(outputs)
    ]
