"""One fixed example of everything that crosses a wire; the golden bytes are made of these."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from commands import enrolment, invoice, loyalty, order, position
from schemas import enrolment as enrolled
from schemas import invoice as invoiced
from schemas import loyalty as earned
from schemas import order as ordered
from schemas import position as positioned
from schemas.invoice import DeliveryAddress, InvoiceLineItem
from tests.application import decode_command, decode_event, encode_command, encode_event
from verdict.model.command import Command, LifeCycle
from verdict.model.command_envelope import CommandEnvelope, Expectation
from verdict.model.message import Event
from verdict.model.reason import Reason
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.model.source import Source
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.progress_record import ProgressRecord, ShardState
from verdict.wire.records import decode, encode
from verdict.wire.response import Rejection, Response, Status
from verdict.wire.skip_record import DamagedAggregate, Kind, SkipRecord

NOON = 1_795_262_400_000  # 2026-11-21T12:00:00Z
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
AT = Source("order.commands", 3, 14)

INVOICE: dict[str, Any] = {
    "created_time": NOON,
    "store_id": "STR2629",
    "pos_id": "POS608",
    "cashier_id": "OAS822",
    "customer_type": "PRIME",
    "customer_card_no": "4629185211",
    "total_amount_cents": 11_687_00,
    "number_of_items": 2,
    "payment_method": "CARD",
    "taxable_amount_cents": 11_687_00,
    "cgst_cents": 292_18,
    "sgst_cents": 292_18,
    "cess_cents": 14_61,
    "delivery_type": "HOME-DELIVERY",
    "delivery_address": DeliveryAddress(
        address_line="4 Main Street", city="Pune", pin_code="411001", contact_number="020 4242"
    ),
    "invoice_line_items": [
        InvoiceLineItem(
            item_code="598",
            item_description="Sideboard",
            item_price_cents=1_687_00,
            item_qty=1,
            total_value_cents=1_687_00,
        ),
        InvoiceLineItem(
            item_code="368", item_price_cents=5_000_00, item_qty=2, total_value_cents=10_000_00
        ),
    ],
}
PLACE: dict[str, Any] = {
    "client": "ada", "ticker": "AAPL", "side": "BUY", "quantity": 10, "limit_price_cents": 150_00,
}  # fmt: skip
AWARD: dict[str, Any] = {
    "invoice_number": "5582023",
    "total_cents": 11_687_00,
    "points_hundredths": 233_74,
}
COMMANDS: dict[str, tuple[Command, ...]] = {
    "enrolment": (
        enrolment.EnrolParticipant(program="chess"),
        enrolment.ActivateParticipant(),
        enrolment.DeactivateParticipant(),
        enrolment.RecordLogin(at=NOON),
        enrolment.MoveParticipant(program="go"),
    ),
    "invoice": (invoice.RecordInvoice(**INVOICE),),
    "loyalty": (loyalty.AwardPoints(**AWARD),),
    "order": (
        order.PlaceOrder(
            client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00
        ),
        order.ModifyOrder(quantity=5),
        order.FillOrder(quantity=5, price_cents=149_99),
        order.CancelOrder(cause="zu spät"),
        order.DeleteOrder(),
    ),
    "position": (
        position.OpenPosition(client="client1", ticker="AAPL", exchange="NASDAQ", amount=100),
        position.AdjustPosition(amount=1),
        position.RelistPosition(exchange="LON"),
        position.TransferPosition(client="client2"),
        position.ClosePosition(),
    ),
}
EVENTS: dict[str, tuple[Event, ...]] = {
    "enrolment": (
        enrolled.ParticipantEnrolled(program="chess"),
        enrolled.ParticipantActivated(),
        enrolled.ParticipantDeactivated(),
        enrolled.LoginRecorded(at=NOON),
        enrolled.ParticipantMoved(program="go"),
    ),
    "invoice": (invoiced.InvoiceRecorded(**INVOICE),),
    "loyalty": (earned.PointsAwarded(**AWARD, total_points_hundredths=1_000_00),),
    "order": (
        ordered.OrderPlaced(
            client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00
        ),
        ordered.OrderModified(quantity=5, limit_price_cents=150_00),
        ordered.OrderFilled(quantity=5, price_cents=149_99),
        ordered.OrderCompleted(),
        ordered.OrderCancelled(cause=None),
        ordered.OrderDeleted(),
    ),
    "position": (
        positioned.PositionOpened(client="client1", ticker="AAPL", exchange="NASDAQ", amount=100),
        positioned.PositionAdjusted(amount=1),
        positioned.PositionRelisted(exchange="LON"),
        positioned.PositionTransferred(client="client2"),
        positioned.PositionClosed(),
    ),
}
ENVELOPE = CommandEnvelope(
    command_id="c-17",
    aggregate_id="order-1",
    expected_version=Expectation.EXISTS,
    deadline=NOON + 60_000,
    correlation_id="flow-1",
    causation_id="e-1",
    actor="ada",
    traceparent=TRACE,
    issued_at=NOON,
    payload={},
)
REJECTION = Rejection(
    command_id="c-17",
    command_digest=bytes(range(32)),
    aggregate_type="order",
    aggregate_id="order-1",
    command_type="FillOrder",
    status=Status.REJECTED,
    duplicate=False,
    from_version=7,
    to_version=7,
    event_ids=[],
    reason=Reason.BUSINESS_RULE,
    message="cannot fill 7: 6 of 10 are open",
    details={"code": "OVERFILL", "quantity": 7, "open": 6},
    expected_version=7,
    actual_version=7,
    actual_state=LifeCycle.ACTIVE,
    retriable=False,
    correlation_id="flow-1",
    source=AT,
    decided_at=NOON,
    handler_version="1",
    last_hash=bytes(range(64, 96)),
    actor="ada",
    command_bytes=b'{"command_id": "c-17"}\xff',
)
RESPONSE = Response(**REJECTION.model_dump(exclude={"command_bytes"}))
DEAD_LETTER = DeadLetter(
    source=AT,
    error="value has no Confluent header",
    key=b"\xff\xfe",
    bytes=b"garbage",
    length=7,
    sha256=bytes(range(32, 64)),
    received_at=NOON,
)
PROGRESS = ProgressRecord(
    query="verdict.decider",
    owner="0b7b6a4f-7e11-4d0c-9d55-6f1c3c526a0b",
    generation=2,
    query_id="6f1c3c52-6a0b-4d0c-9d55-0c7b6a4f7e11",
    batch_id=41,
    digest=bytes(range(64, 96)),
    offsets={"order.commands": [10, 0, 3, 7], "position.commands": [1, 2, 3, 4]},
    shards=2,
    handler_version="order=1 position=1",
)
PLACED_PROGRESS = replace(
    PROGRESS,
    cluster_id="q3mJ1vYxQ0W8r1sX9dM5Ug",
    topic_ids={
        "order.commands": "Zl3uYJvzTaK0c0bW0x6m1Q",
        "order.events": "7Yv2m3pTQ1y8s0aL1cKqWw",
    },
    shard_states=[ShardState(42, bytes(range(128, 160))), ShardState(40, bytes(range(160, 192)))],
    left={"POS": [7, 0]},
)
DECISION = SkipRecord(
    source=AT,
    until_offset=AT.offset + 1,
    operator="ada",
    reason="a disk had flipped a bit",
    decided_at=NOON,
)
QUARANTINE = replace(
    DECISION,
    until_offset=AT.offset,
    kind=Kind.QUARANTINED,
    aggregate=DamagedAggregate("order", "order-1", 3, 7, "version 4 follows version 2"),
)


def recorded(aggregate_type: str, payload: Event, **changed: Any) -> RecordedEvent:
    """Return an event with a full envelope; `changed` replaces fields of it."""
    values: dict[str, Any] = {
        "event_id": event_id(aggregate_type, "order-1", 8),
        "aggregate_type": aggregate_type,
        "aggregate_id": "order-1",
        "version": 8,
        "index": 0,
        "count": 2,
        "command_id": "c-17",
        "command_digest": bytes(range(32)),
        "correlation_id": "flow-1",
        "causation_id": "c-17",
        "actor": "ada",
        "traceparent": TRACE,
        "decided_at": NOON,
        "source": AT,
        "handler_version": "1",
        "previous_hash": bytes(range(96, 128)),
        "payload": payload,
    }
    return RecordedEvent(**values | changed)


@dataclass(frozen=True)
class Example:
    """A record, and how it becomes bytes and a record again."""

    name: str
    record: Any
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _examples() -> Iterator[Example]:
    for record in (RESPONSE, REJECTION, DEAD_LETTER, PROGRESS, DECISION):
        kind: Any = type(record)
        yield Example(kind.__name__, record, encode, partial(decode, kind))
    yield Example(
        "ProgressRecord of a cluster", PLACED_PROGRESS, encode, partial(decode, ProgressRecord)
    )
    yield Example("Decision about a quarantine", QUARANTINE, encode, partial(decode, SkipRecord))
    for aggregate_type, happened in EVENTS.items():
        for event in happened:
            yield Example(
                f"{aggregate_type} {type(event).__name__}",
                recorded(aggregate_type, event),
                encode_event,
                partial(decode_event, aggregate_type),
            )
    for aggregate_type, asked in COMMANDS.items():
        for command in asked:
            envelope = ENVELOPE.model_dump(exclude={"payload"})
            payload = {"type": type(command).__name__, **command.model_dump()}
            yield Example(
                f"{aggregate_type} {type(command).__name__}",
                envelope | {"payload": payload},
                partial(_encode_as, aggregate_type, command),
                partial(decode_command, aggregate_type),
            )


def _encode_as(aggregate_type: str, command: Command, envelope: dict[str, Any]) -> bytes:
    return encode_command(aggregate_type, CommandEnvelope.model_validate(envelope), command)


EXAMPLES = tuple(_examples())  # one of every type that crosses a wire
