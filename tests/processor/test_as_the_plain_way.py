"""From bytes to bytes, and the plain way through objects: every output and entry is the same."""

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates import order
from commands.order import CancelOrder, DeleteOrder, FillOrder, ModifyOrder
from compose.application import app
from schemas.order import OrderFilled
from tests.application import APPLICATION, encode_command, encode_snapshot
from tests.decide.desk import OPEN, PLACE, command_record, log_of
from tests.decide.plain import outputs_of
from tests.model import Record
from tests.traffic import START
from tests.wire.arbitrary import AGGREGATES, EXPECTED, INSTANTS, NO_NUL, TEXTS, commands
from verdict.model.application import Application
from verdict.model.command import Refused
from verdict.model.command_envelope import CommandEnvelope
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.catalog import catalog_of
from verdict.wire.command_record import CommandRecord
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.decide.snapshot import Snapshot
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.shard_state import DictState, StateEntry, snapshot_key

LIMITS = st.sampled_from([Limits(), Limits(events_bytes=700), Limits(events_bytes=0)])
LIFE = st.sampled_from(
    [
        PLACE, ModifyOrder(quantity=5), FillOrder(quantity=10, price_cents=1), CancelOrder(),
        FillOrder(quantity=2, price_cents=1), DeleteOrder(), CancelOrder(cause="ünïcode 客"),
        ModifyOrder(limit_price_cents=1), OPEN,
    ]
)  # fmt: skip
IDS = ("a", "é" * 100)
ANY_COMMAND = AGGREGATES.flatmap(commands)
LONG_TEXTS = TEXTS | st.text(NO_NUL, min_size=60, max_size=200)


@st.composite
def records(draw: st.DrawFn, offset: int = 0) -> CommandRecord:
    """Return a command for one of few aggregates, under one of few ids, in Avro or JSON."""
    payload = draw(LIFE | ANY_COMMAND)
    of = APPLICATION.aggregate_of(type(payload))
    named = {
        "command_id": draw(st.sampled_from(["c-1", "c-2", "ç" * 128]) | LONG_TEXTS.filter(short)),
        "aggregate_id": draw(st.sampled_from(IDS)),
        "expected_version": draw(st.integers(0, 3) | st.just("ANY") | EXPECTED),
        "deadline": draw(st.none() | st.sampled_from([0, START, START + 2]) | INSTANTS),
        "correlation_id": draw(st.none() | LONG_TEXTS),
        "causation_id": draw(st.none() | LONG_TEXTS),
        "actor": draw(st.none() | LONG_TEXTS),
        "traceparent": draw(st.none() | LONG_TEXTS),
        "issued_at": draw(st.none() | INSTANTS),
    }
    envelope = CommandEnvelope.model_validate(named | {"payload": {}})
    value = encode_command(of, envelope, payload)
    if draw(st.booleans()):
        fields = {"type": type(payload).__name__} | payload.model_dump(mode="json")
        value = json.dumps(named | {"payload": fields}).encode()
    at = START + draw(st.integers(-2, 3))
    key = str(named["aggregate_id"]).encode()
    found = command_record(Record(f"{of}.commands", draw(st.integers(0, 1)), 0, at, key, value))
    return found._replace(
        reply_to=draw(st.none() | st.just(b"me")), attempt=draw(st.integers(0, 2))
    )


def short(text: str) -> bool:
    return len(text) <= 128


def assert_same(
    log: list[CommandRecord],
    limits: Limits,
    cut: int,
    application: Application = APPLICATION,
    quarantined: Collection[str] = (),
) -> None:
    """Decide a log in both ways, in batches of `cut` records, and compare.

    The aggregates of the ids `quarantined` are so from the beginning.
    """
    log = [
        one._replace(source=replace(one.source, offset=n, partition=0)) for n, one in enumerate(log)
    ]
    state, plain = DictState(), DictState()
    outputs, expected = list[OutputRecord](), list[OutputRecord]()
    for name in quarantined:
        for of in application.aggregate_types:
            entry = StateEntry(encode_snapshot(of, Snapshot(3, quarantined=True)))
            plain.entries[snapshot_key(of, name)] = entry
    state.entries |= plain.entries
    for begin in range(0, len(log), cut):
        some = sorted(log[begin : begin + cut], key=lambda one: one.place)
        expected += outputs_of(some, plain, limits, catalog_of(application))
        batch = ShardBatch(Topics(application), limits, state)
        outputs += batch.decide(some)
        batch.commit()
    assert outputs == expected
    assert state.entries == plain.entries


@pytest.mark.proves("C-17")
@given(
    st.lists(records(), min_size=1, max_size=12),
    LIMITS,
    st.integers(1, 12),
    st.sets(st.sampled_from(IDS), max_size=1),
)
def test_any_commands_are_decided_as_in_the_plain_way(
    log: list[CommandRecord], limits: Limits, cut: int, quarantined: set[str]
) -> None:
    assert_same(log, limits, cut, quarantined=quarantined)


@given(st.integers(0, 2**32), LIMITS, st.integers(1, 40))
def test_careless_traffic_is_decided_as_in_the_plain_way(
    seed: int, limits: Limits, cut: int
) -> None:
    assert_same([command_record(one) for one in log_of(seed, 40, aggregates=2)], limits, cut)


def careless(state: Any, command: Any) -> Any:
    """Answer with what is not allowed, or with many events."""
    some = OrderFilled(quantity=1, price_cents=1)
    answers: dict[type, Any] = {
        ModifyOrder: [],
        FillOrder: [some] * (command.quantity % 300 if isinstance(command, FillOrder) else 0),
        CancelOrder: [some, "no event"],
        DeleteOrder: None,
    }
    if isinstance(command, ModifyOrder) and command.quantity:
        raise Refused("CODE\0", f"half \ud83d of {command!r}", number=2**63, other=-5, text="é")
    if type(command) not in answers:
        return order.order.decide(state, command)
    return answers[type(command)]


@given(st.lists(records(), min_size=1, max_size=12), LIMITS)
def test_bugs_and_many_events_are_answered_as_in_the_plain_way(
    log: list[CommandRecord], limits: Limits
) -> None:
    buggy = replace(order.order, decide=careless, handler_version="7 ü")
    others = (one for one in app.aggregates if one.name != "order")

    assert_same(log, limits, 5, replace(app, aggregates=(buggy, *others)))
