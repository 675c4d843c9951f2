"""Rejected commands of policies: each has a row with its cause, and some need attention."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from commands.order import DeleteOrder, FillOrder
from compose.application import app
from schemas.order import OrderPlaced
from tests.application import decode_event
from tests.conftest import NewDatabase
from tests.http.filled import PLACE, keep
from tests.kit.databases import ReadSide
from tests.read_side.second_version import compared
from tests.read_side.test_indexed import plan
from verdict.adapters.sql.readers.reader import Reader
from verdict.adapters.sql.time_text import wall_clock
from verdict.model.aggregate import Aggregate, InvalidApplicationError
from verdict.model.application import Application
from verdict.model.message import iso_time
from verdict.model.policy import Dispatch, Policy, command_id
from verdict.model.reason import Reason
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.status.read_side_status import (
    COUNTED,
    LISTED,
    NEWEST,
    policy_rejections,
)
from verdict.operations.status.status import PolicyRejections
from verdict.read_side.catalog import projections
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.schema.database import create_read_side, opened
from verdict.testing.in_memory import InMemory

HOUR = 3_600_000
TOO_MUCH = FillOrder(quantity=99, price_cents=1)
INVALID = FillOrder.model_construct(quantity=-1, price_cents=1)


def react(event: RecordedEvent) -> Iterator[Dispatch]:
    """Ask for what every check rejects but one, which nothing is wrong with."""
    if isinstance(event.payload, OrderPlaced) and event.payload.client == "ada":
        yield Dispatch(event.aggregate_id, TOO_MUCH)
        yield Dispatch("nowhere", DeleteOrder())
        yield Dispatch(event.aggregate_id, INVALID)
        yield Dispatch(event.aggregate_id, FillOrder(quantity=1, price_cents=1))


def shop(*expected: str, order: Aggregate[Any] | None = None) -> Application:
    """Return an application with one policy, which expects these rejections."""
    policies = (Policy("greedy", ("order",), react, expected_rejections=expected),)
    aggregates = tuple(order if order and one.name == order.name else one for one in app.aggregates)
    return replace(app, policies=policies, aggregates=aggregates)


@dataclass
class Clock:
    """Says when records arrive."""

    now: int

    def __call__(self) -> int:
        return self.now


@contextmanager
def reading(url: str, application: Application) -> Iterator[Reader]:
    read_side = ReadSide(url, projections(application))
    with read_side.reader() as reader:
        yield reader
    read_side.close()


def found(url: str, application: Application) -> list[dict[str, Any]]:
    with reading(url, application) as reader:
        selected = reader.select("SELECT * FROM policy_rejection ORDER BY reason")
        return [dict(zip(selected.columns, row, strict=True)) for row in selected.rows]


def counted(url: str, application: Application) -> tuple[PolicyRejections, ...]:
    with reading(url, application) as reader:
        return policy_rejections(reader)


def attention(url: str, application: Application) -> dict[str, int]:
    """Return how many rejections of a reason need attention."""
    return {one.reason: one.unexpected for one in counted(url, application) if one.unexpected}


@pytest.mark.proves("X-01")
@pytest.mark.both_databases
def test_a_rejected_command_of_a_policy_is_listed_with_its_cause(new_database: NewDatabase) -> None:
    url, now = new_database(), wall_clock()
    with InMemory(shop("OVERFILL"), clock=lambda: now) as memory:
        memory.send("o-1", PLACE, 0, correlation_id="flow-1")
        memory.send("o-1", TOO_MUCH, "ANY", actor="ada")
        memory.send("o-1", TOO_MUCH, "ANY", actor="policy:claimed")  # has no event as its cause
        [placed, *_] = memory.events("order.events")
        event = decode_event("order", placed.value or b"")
        keep(memory, url)
        application = memory.topics.application
        rows, counts = found(url, application), counted(url, application)

    same = {"policy": "greedy", "event_id": event.event_id, "aggregate_type": "order"}
    ids = [command_id("greedy", event.event_id, index) for index in range(3)]
    by_time = {"decided_at": iso_time(now)}
    overfill, invalid, nowhere = rows
    assert [*overfill] == [
        "policy", "event_id", "command_id", "aggregate_type", "aggregate_id", "reason",
        "rule_code", "message", "expected", "decided_at",
    ]  # fmt: skip
    assert overfill == same | by_time | {
        "command_id": ids[0],
        "aggregate_id": "o-1",
        "reason": "BUSINESS_RULE",
        "rule_code": "OVERFILL",
        "message": "cannot fill 99: 10 of 10 are open",
        "expected": True,
    }
    assert nowhere == same | by_time | {
        "command_id": ids[1],
        "aggregate_id": "nowhere",
        "reason": "NOT_FOUND",
        "rule_code": None,
        "message": "order 'nowhere' does not exist",
        "expected": False,
    }
    assert (invalid["command_id"], invalid["reason"]) == (ids[2], "INVALID_COMMAND")
    assert counts == (
        PolicyRejections("greedy", "BUSINESS_RULE", "OVERFILL", 1, 0, None),
        PolicyRejections("greedy", "INVALID_COMMAND", None, 1, 1, ids[2]),
        PolicyRejections("greedy", "NOT_FOUND", None, 1, 1, ids[1]),
    )


@pytest.mark.proves("X-01")
@pytest.mark.both_databases
def test_a_changed_declaration_holds_for_rejections_that_are_there(
    new_database: NewDatabase,
) -> None:
    url = new_database()
    with InMemory(shop()) as memory:
        memory.send("o-1", PLACE, 0)
        keep(memory, url)
        assert attention(url, memory.topics.application) == {
            "BUSINESS_RULE": 1,
            "INVALID_COMMAND": 1,
            "NOT_FOUND": 1,
        }

    for expected, left in (
        (("OVERFILL", Reason.NOT_FOUND), ["INVALID_COMMAND"]),
        ((Reason.BUSINESS_RULE,), ["INVALID_COMMAND", "NOT_FOUND"]),
        (("it's another rule",), ["BUSINESS_RULE", "INVALID_COMMAND", "NOT_FOUND"]),
    ):
        with opened(url) as engine:
            create_read_side(engine, projections(shop(*expected)))
            assert [*attention(url, shop(*expected))] == left


@pytest.mark.proves("X-01")
@pytest.mark.both_databases
def test_a_rejection_needs_attention_for_a_day(new_database: NewDatabase) -> None:
    url, clock = new_database(), Clock(wall_clock() - 25 * HOUR)
    with InMemory(shop(Reason.INVALID_COMMAND, Reason.NOT_FOUND), clock=clock) as memory:
        memory.send("old", PLACE, 0)
        clock.now += 2 * HOUR
        memory.send("young", PLACE, 0)
        keep(memory, url)
        counts = counted(url, memory.topics.application)

    assert [(one.reason, one.rejected, one.unexpected) for one in counts] == [
        ("BUSINESS_RULE", 2, 1),
        ("INVALID_COMMAND", 2, 0),
        ("NOT_FOUND", 2, 0),
    ]


@pytest.mark.proves("X-01")
def test_a_duplicate_adds_no_rejection_and_a_rebuild_gives_the_same(
    new_database: NewDatabase,
) -> None:
    with InMemory(shop()) as memory:
        memory.send("o-1", PLACE, 0)
        topics, topic = memory.topics, memory.topics.rejected("order")
        for record in memory.events(topics.commands("order"))[1:]:
            memory.put(record.topic, record.value, record.key)  # the policy's commands again
        url, decoding = new_database(), RecordDecoder(topics)
        keep(memory, url)
        every = found(url, memory.topics.application)
        repeated = [one["reason"] for one in every if one["reason"] != "INVALID_COMMAND"]
        records = memory.events(topic)
        deliveries = [decoding.delivery(*one[:3], one.key, one.value) for one in records]
        read_side = ReadSide(url)
        assert all(one.equal for one in compared(read_side, "policy_rejection", deliveries))
        read_side.close()

    assert repeated == ["BUSINESS_RULE", "NOT_FOUND"]


@pytest.mark.both_databases
def test_what_is_counted_and_listed_is_found_by_an_index(read_side: ReadSide) -> None:
    """So 100,000 rejections are counted without reading their rows, and listed page by page."""
    values = {
        ":since": "'2026-11-21T12:00:00.000Z'", ":most": "50", ":offset": "0",
        ":policy": "'p'", ":reason": "'NOT_FOUND'", ":rule_code": "''",
    }  # fmt: skip
    plans = []
    for statement in (COUNTED, LISTED, NEWEST):
        for name, value in values.items():
            statement = statement.replace(name, value)
        plans.append("\n".join(plan(read_side, statement)))

    counts, listed, newest = plans
    assert re.search("(COVERING INDEX|Index Only Scan using) policy_rejection_v1_reason", counts)
    assert "policy_rejection_v1_time" in listed
    assert "event_archive_v1_correlation" in listed
    assert "policy_rejection_v1_time" in newest


@pytest.mark.parametrize("expected", ["OVERFILL", {""}, {7}])
def test_what_cannot_be_expected_is_refused_at_the_declaration(expected: Collection[Any]) -> None:
    with pytest.raises(InvalidApplicationError, match="give a set of reasons"):
        Policy("greedy", ("order",), react, expected_rejections=expected)
