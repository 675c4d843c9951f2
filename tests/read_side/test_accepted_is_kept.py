"""What a command may hold every store can keep: each field of each command, at its limits."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.application import APPLICATION
from tests.decide.desk import command_record
from tests.kit.databases import NOW, ReadSide
from tests.model import Record
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.live.decoding import RecordDecoder
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.shard_state import DictState

TOPICS = Topics(APPLICATION)
LARGEST = 2**63 - 1
END_OF_TIME = "9999-12-31T23:59:59.999+00:00"

INVOICE = {
    "type": "RecordInvoice", "created_time": NOW, "store_id": "s", "pos_id": "p",
    "cashier_id": "c", "customer_type": "PRIME", "customer_card_no": "card",
    "total_amount_cents": 1, "number_of_items": 1, "payment_method": "CASH",
    "taxable_amount_cents": 1, "cgst_cents": 1, "sgst_cents": 1, "cess_cents": 1,
    "delivery_type": "HOME-DELIVERY",
    "delivery_address": {"address_line": "a", "city": "b", "state": "c", "pin_code": "d"},
    "invoice_line_items": [
        {"item_code": "i", "item_price_cents": 1, "item_qty": 1, "total_value_cents": 1}
    ],
}  # fmt: skip
PLACE = {"client": "a", "ticker": "t", "side": "BUY", "quantity": 9, "limit_price_cents": 1}
OPEN = {"client": "a", "ticker": "t", "exchange": "NYSE", "amount": 1}
AWARD = {"type": "AwardPoints", "total_cents": 1, "points_hundredths": 1}
LIVES: dict[str, list[dict[str, Any]]] = {
    "position": [
        {"type": "OpenPosition", **OPEN},
        {"type": "AdjustPosition", "amount": 2},
        {"type": "RelistPosition", "exchange": "NASDAQ"},
        {"type": "TransferPosition", "client": "b"},
    ],
    "order": [
        {"type": "PlaceOrder", **PLACE},
        {"type": "ModifyOrder", "quantity": 8, "limit_price_cents": 2},
        {"type": "FillOrder", "quantity": 1, "price_cents": 1},
        {"type": "CancelOrder", "cause": "c"},
    ],
    "enrolment": [
        {"type": "EnrolParticipant", "program": "p"},
        {"type": "RecordLogin", "at": NOW},
        {"type": "MoveParticipant", "program": "q"},
    ],
    "invoice": [INVOICE],
    "loyalty": [{**AWARD, "invoice_number": number} for number in ("i", "j")],
}


def incompressible(length: int) -> str:
    """Return a text of characters of four bytes that no index of PostgreSQL makes shorter."""
    return "".join(map(chr, Random(length).choices(range(0x20000, 0x2A6D0), k=length)))


TEXTS = {
    "256": incompressible(256),
    "long": incompressible(4000),
    "control": "\x01\x1b[2J\x7f\u2028\ufeff\ufffe\uffff\U0010ffff",
    "NUL": "a\0b",
    "surrogate": "a\ud800b",
    "empty": "",
}
NUMBERS = {"largest": LARGEST, "beyond": LARGEST + 1, "huge": 10**400, "zero": 0, "minus": -1}
TIMES = {
    "end": END_OF_TIME,
    "west": "9999-12-31T23:59:59.999-12:00",
    "beyond": 253_402_300_800_000,
    "before": "0001-01-01T00:00:00+14:00",
    "begin": 0,
}
NEVER = {"NUL", "surrogate", "beyond", "huge", "minus", "west", "before"}


def extremes(field: str, value: object) -> dict[str, Any]:
    if field in {"at", "created_time"}:
        return TIMES
    return TEXTS if isinstance(value, str) else NUMBERS


def altered(payload: Any) -> Iterator[tuple[str, Any]]:
    """Yield the payload with one value at a limit, and the limit's name."""
    places = payload.items() if isinstance(payload, dict) else enumerate(payload)
    for place, value in [*places]:
        if place == "type":
            continue
        if isinstance(value, dict | list):
            others: Any = altered(value)
        else:
            others = extremes(str(place), value).items()
        for name, other in others:
            copy: Any = dict(payload) if isinstance(payload, dict) else list(payload)
            copy[place] = other
            yield name, copy


def commands() -> Iterator[tuple[str, Record]]:
    """Yield each life up to a command that is altered; `""` where it is not."""
    offset = 0
    for aggregate_type, life in LIVES.items():
        for number, payload in enumerate(life):
            for name, one in altered(payload):
                aggregate = f"{aggregate_type}-{offset}"
                for limit, sent in [*(("", before) for before in life[:number]), (name, one)]:
                    yield limit, record(aggregate_type, aggregate, offset, sent)
                    offset += 1
        for place in ("aggregate_id", "command_id", "correlation_id", "causation_id", "actor"):
            for name, text in TEXTS.items():
                yield name, record(aggregate_type, f"x{offset}", offset, life[0], **{place: text})
                offset += 1


def record(
    aggregate_type: str, aggregate: str, offset: int, payload: object, **fields: str
) -> Record:
    known = {"command_id": f"c-{offset}", "aggregate_id": aggregate, "expected_version": "ANY"}
    envelope = known | fields
    return Record(
        topic=TOPICS.commands(aggregate_type),
        partition=0,
        offset=offset,
        timestamp=NOW,
        key=envelope["aggregate_id"].encode(errors="surrogatepass"),
        value=json.dumps(envelope | {"payload": payload}).encode(),
    )


def decided(log: list[Record]) -> list[OutputRecord]:
    batch = ShardBatch(TOPICS, Limits(), DictState())
    return list(batch.decide(map(command_record, log)))


@pytest.mark.proves("B-09")
@pytest.mark.both_databases
@pytest.mark.parametrize("limit", sorted({*TEXTS, *NUMBERS, *TIMES}))
def test_what_is_accepted_is_kept_by_every_store(read_side: ReadSide, limit: str) -> None:
    chosen = {r.key for name, r in commands() if name == limit}
    log = [r for _, r in commands() if r.key in chosen]
    outputs = decided(log)
    accepted = [out for out in outputs if out.topic.endswith(".events")]
    decoder, ends = RecordDecoder(TOPICS), dict[TopicPartition, int]()
    deliveries = []
    for out in outputs:
        place = TopicPartition(out.topic, 0)
        offset = ends[place] = ends.get(place, -1) + 1
        if out.topic.endswith((".events", ".responses")):
            deliveries.append(decoder.delivery(out.topic, 0, offset, out.key, out.value))
    batch = ProjectionBatch(
        deliveries, {place: OffsetRange(0, end + 1) for place, end in ends.items()}
    )

    for name in read_side.projections:
        applier = read_side.applier(name)
        applier.apply(batch)
        assert not applier.is_stopped, applier.failure

    assert read_side.select("SELECT * FROM projection_blocked") == []
    assert read_side.select("SELECT count(*) FROM event_archive") == [(len(accepted),)]
    if limit in NEVER:
        assert len(accepted) <= len(log) - sum(name == limit for name, _ in commands())
