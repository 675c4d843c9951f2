"""Any record of every type that crosses a wire, for hypothesis."""

from collections.abc import Callable

from hypothesis import strategies as st

from commands.order import ModifyOrder
from tests.application import APPLICATION
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, Expectation
from verdict.model.life_cycle import LifeCycle
from verdict.model.message import END_OF_TIME, LARGEST, Event, Message
from verdict.model.reason import Reason
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.progress_record import ProgressRecord, ShardState
from verdict.wire.response import Rejection, Response, Status

NO_NUL = st.characters(exclude_characters="\0", codec="utf-8")
TEXTS = st.text(NO_NUL, min_size=1, max_size=40)
INSTANTS = st.integers(0, END_OF_TIME)
LONGS = st.integers(-LARGEST - 1, LARGEST)
COUNTS = st.integers(0, LARGEST)
POSITIVE = st.integers(1, LARGEST)
HASHES = st.binary(min_size=32, max_size=32)
BYTES = st.binary(max_size=60)
SOURCES = st.builds(Source, TEXTS, COUNTS, COUNTS)
DETAILS = st.dictionaries(TEXTS, LONGS | TEXTS, max_size=4)
EXPECTED = COUNTS | st.sampled_from(Expectation)


AMOUNTS = st.integers(0, LARGEST)
ADDRESSES = st.fixed_dictionaries(
    {
        name: st.none() | TEXTS
        for name in ("address_line", "city", "state", "pin_code", "contact_number")
    }
)
LINE_ITEMS = st.fixed_dictionaries(
    {
        "item_code": TEXTS,
        "item_description": st.none() | TEXTS,
        "item_price_cents": AMOUNTS,
        "item_qty": POSITIVE,
        "total_value_cents": AMOUNTS,
    }
)
INVOICE: dict[str, st.SearchStrategy[object]] = {
    "created_time": INSTANTS,
    "number_of_items": POSITIVE,
    "delivery_address": ADDRESSES,
    "invoice_line_items": st.lists(LINE_ITEMS, min_size=1, max_size=3),
    **dict.fromkeys(("store_id", "pos_id", "cashier_id", "customer_type"), TEXTS),
    **dict.fromkeys(("customer_card_no", "payment_method", "delivery_type"), TEXTS),
    **dict.fromkeys(("total_amount_cents", "taxable_amount_cents"), AMOUNTS),
    **dict.fromkeys(("cgst_cents", "sgst_cents", "cess_cents"), AMOUNTS),
}
LOYALTY: dict[str, st.SearchStrategy[object]] = {
    "invoice_number": TEXTS,
    **dict.fromkeys(("total_cents", "points_hundredths", "total_points_hundredths"), AMOUNTS),
}
FIELDS: dict[str, st.SearchStrategy[object]] = {
    **INVOICE,
    **LOYALTY,
    "client": TEXTS,
    "ticker": TEXTS,
    "exchange": TEXTS,
    "cause": TEXTS,
    "side": st.sampled_from(["BUY", "SELL"]),
    "amount": POSITIVE,
    "quantity": POSITIVE,
    "limit_price_cents": POSITIVE,
    "price_cents": POSITIVE,
    "program": TEXTS,
    "at": INSTANTS,
}


def _fields(cls: type[Message]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries(
        {
            name: FIELDS[name] if field.is_required() else st.none() | FIELDS[name]
            for name, field in cls.model_fields.items()
        }
    )


def events(aggregate_type: str) -> st.SearchStrategy[Event]:
    """Return any event of an aggregate."""
    return st.one_of(
        [
            _fields(cls).map(cls.model_validate)
            for cls in APPLICATION.aggregate(aggregate_type).event_types.values()
        ]
    )


def commands(aggregate_type: str) -> st.SearchStrategy[Command]:
    """Return any command to an aggregate."""
    return st.one_of(
        [
            _fields(cls).filter(_acceptable(cls)).map(cls.model_validate)
            for cls in APPLICATION.aggregate(aggregate_type).command_types.values()
        ]
    )


def _acceptable(cls: type[Command]) -> Callable[[dict[str, object]], bool]:
    """Return whether fields fit together; each on its own is valid."""
    return lambda fields: cls is not ModifyOrder or any(fields.values())


def _recorded(aggregate_type: str) -> st.SearchStrategy[RecordedEvent]:
    return st.builds(
        RecordedEvent,
        event_id=st.uuids().map(str),
        aggregate_type=st.just(aggregate_type),
        aggregate_id=TEXTS,
        version=POSITIVE,
        index=COUNTS,
        count=POSITIVE,
        command_id=TEXTS,
        command_digest=HASHES,
        correlation_id=TEXTS,
        causation_id=TEXTS,
        actor=st.none() | TEXTS,
        traceparent=st.none() | TEXTS,
        decided_at=INSTANTS,
        source=SOURCES,
        handler_version=TEXTS,
        previous_hash=st.just(b"") | HASHES,
        payload=events(aggregate_type),
    )


AGGREGATES = st.sampled_from(APPLICATION.aggregate_types)
RECORDED_EVENTS = AGGREGATES.flatmap(_recorded)

RESPONSE_FIELDS = {
    "command_id": TEXTS,
    "command_digest": st.none() | HASHES,
    "aggregate_type": TEXTS,
    "aggregate_id": TEXTS,
    "command_type": st.none() | TEXTS,
    "status": st.sampled_from(Status),
    "duplicate": st.booleans(),
    "from_version": st.none() | COUNTS,
    "to_version": st.none() | COUNTS,
    "event_ids": st.lists(TEXTS, max_size=3),
    "reason": st.none() | st.sampled_from(Reason),
    "message": st.none() | TEXTS,
    "details": DETAILS,
    "expected_version": st.none() | EXPECTED,
    "actual_version": st.none() | COUNTS,
    "actual_state": st.none() | st.sampled_from(LifeCycle),
    "retriable": st.booleans(),
    "correlation_id": TEXTS,
    "source": SOURCES,
    "decided_at": INSTANTS,
    "handler_version": TEXTS,
    "last_hash": st.none() | st.just(b"") | HASHES,
}
RESPONSES = st.builds(Response, **RESPONSE_FIELDS)
REJECTIONS = st.builds(Rejection, **RESPONSE_FIELDS, command_bytes=BYTES)
DEAD_LETTERS = st.builds(
    DeadLetter,
    source=SOURCES,
    error=TEXTS,
    key=st.none() | BYTES,
    bytes=st.none() | BYTES,
    length=COUNTS,
    sha256=HASHES,
    received_at=INSTANTS,
    key_length=st.none() | COUNTS,
    key_sha256=st.none() | HASHES,
)
PROGRESS_RECORDS = st.builds(
    ProgressRecord,
    query=TEXTS,
    owner=TEXTS,
    generation=COUNTS,
    query_id=st.none() | TEXTS,
    batch_id=LONGS,
    digest=HASHES,
    offsets=st.dictionaries(TEXTS, st.lists(COUNTS, max_size=4), max_size=3),
    shards=POSITIVE,
    handler_version=TEXTS,
    cluster_id=st.none() | TEXTS,
    topic_ids=st.dictionaries(TEXTS, TEXTS, max_size=3),
    shard_states=st.lists(st.builds(ShardState, sequence=COUNTS, digest=HASHES), max_size=3),
    left=st.dictionaries(TEXTS, st.lists(COUNTS, max_size=4), max_size=3),
)


def envelopes() -> st.SearchStrategy[CommandEnvelope]:
    """Return any envelope, its payload left empty."""
    optional_text = st.none() | TEXTS
    return st.builds(
        CommandEnvelope,
        command_id=st.text(NO_NUL, min_size=1, max_size=128),
        aggregate_id=st.text(NO_NUL, min_size=1, max_size=256),
        expected_version=EXPECTED,
        deadline=st.none() | INSTANTS,
        correlation_id=optional_text,
        causation_id=optional_text,
        actor=optional_text,
        traceparent=optional_text,
        issued_at=st.none() | INSTANTS,
        payload=st.just({}),
    )
