"""The application in memory: its topics against the model, its views against oracles."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from commands.loyalty import AwardPoints
from commands.order import CancelOrder, FillOrder, PlaceOrder
from commands.position import OpenPosition
from compose.application import app as application
from projections.us_exchanges import US_EXCHANGES
from schemas.order import OrderCancelled, OrderPlaced
from tests.comparison import Published, assert_as_the_model_says
from tests.model import Expected, fold
from tests.reactions.tills import recorded, shipped, totals
from tests.testing.random_log import World, views
from verdict.adapters.sql.readers.selected import NotAllowedError
from verdict.client.errors import CommandTooLargeError
from verdict.errors import VerdictError
from verdict.model.policy import Dispatch, Policy
from verdict.model.recorded_event import RecordedEvent
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.testing import InMemory, LogRecord
from verdict.testing.memory_log import TopicNotFoundError
from verdict.wire.headers import pairs

PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
AWARD = AwardPoints.__name__
OPEN = OpenPosition(client="ada", ticker="AAPL", exchange="NYSE", amount=1)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    with world.app:
        yield world


def test_a_command_is_answered_and_shown(world: World) -> None:
    app, now = world.app, world.now

    placed = app.send("order-1", PLACE, 0, command_id="c-1")
    again = app.send("order-1", PLACE, 0, command_id="c-1")
    late = app.send("order-1", FillOrder(quantity=1, price_cents=1), 0)

    assert (placed.status, placed.to_version, placed.decided_at) == ("ACCEPTED", 1, now)
    assert (again.status, again.duplicate, again.event_ids) == ("ACCEPTED", True, placed.event_ids)
    assert (late.reason, late.actual_version) == ("VERSION_CONFLICT", 1)
    shown = app.sql("SELECT order_id, status FROM client_recent_order WHERE client = ?", ["ada"])
    assert shown == [{"order_id": "order-1", "status": "OPEN"}]
    [event] = app.events("order.events")
    assert (event.key, event.value and event.value[:5]) == (b"order-1", b"\0\0\0\0\6")
    assert dict(event.headers)["ce_type"] == b"verdict.order.OrderPlaced"


def test_the_settings_of_an_application_may_be_others() -> None:
    with InMemory(application, {"us_exchanges": ["LON"]}) as app:
        app.send("p-1", OPEN, 0)
        assert app.sql("SELECT client FROM us_holder") == []
        app.send("p-2", OPEN.model_copy(update={"exchange": "LON"}), 0)
        assert app.sql("SELECT client FROM us_holder") == [{"client": "ada"}]


def test_readers_see_views_and_no_tables(world: World) -> None:
    with pytest.raises(NotAllowedError):
        world.app.sql("SELECT * FROM us_holder_v1")
    with pytest.raises(VerdictError, match="no such column"):
        world.app.sql("SELECT colour FROM us_holder")


def test_what_a_client_refuses_to_send_is_refused_here_too(world: World) -> None:
    with pytest.raises(CommandTooLargeError):
        world.app.send("order-1", CancelOrder(cause="x" * 70_000), 1)
    with pytest.raises(TopicNotFoundError, match=r"'orders.commands': there are POS, "):
        world.app.put("orders.commands", b"")
    assert world.app.events("order.commands") == []


def test_an_unreadable_command_becomes_a_dead_letter_that_people_see(world: World) -> None:
    record = world.app.put("order.commands", b"garbage", b"order-1")

    assert world.app.response_to(record.source) is None
    [letter] = world.app.sql("SELECT status, error FROM dead_letter")
    assert letter["status"] == "PARKED"
    assert "no Confluent header" in letter["error"]


def published(app: InMemory) -> list[Published]:
    """Return what is on the output topics of all aggregates."""
    topics = {name for one in app.topics.every_commands() for name in app.topics.siblings(one)}
    topics |= {app.topics.dead_letters}
    return [
        Published(*one[:3], one.key, one.value or b"")
        for topic in sorted(topics - {*app.topics.every_commands()})
        for one in app.events(topic)
        if topic != app.topics.dead_letters or b"POS" not in (dict(one.headers)["ce_source"] or b"")
    ]


def assert_views(app: InMemory, expected: Expected) -> None:
    """Hold the views against what the model says of each aggregate."""
    states = [
        (kind, name, aggregate.state)
        for (kind, name), aggregate in expected.aggregates.items()
        if aggregate.state is not None
    ]
    holders = Counter(
        state["client"]
        for kind, _, state in states
        if kind == "position" and state["exchange"] in US_EXCHANGES
    )
    held = app.sql("SELECT * FROM us_holder")
    assert {one["client"]: one["positions"] for one in held} == holders
    orders = {name for kind, name, _ in states if kind == "order"}
    assert {one["order_id"] for one in app.sql("SELECT * FROM client_recent_order")} == orders
    enrolled = (state for kind, _, state in states if kind == "enrolment")
    programs = Counter((state["program"], bool(state["active"])) for state in enrolled)
    tally = Counter[tuple[str, bool]]()
    for one in app.sql("SELECT * FROM program_tally"):
        tally[one["program"], True] = one["number_active"]
        tally[one["program"], False] = one["number_inactive"]
    assert +tally == programs
    archived = "SELECT aggregate_type, aggregate_id, max(version) FROM event_archive GROUP BY 1, 2"
    assert {tuple(one.values()) for one in app.sql(archived)} == {
        (*identity, one.version) for identity, one in expected.aggregates.items() if one.version
    }
    answered = [one for one in expected.outcomes.values() if one.response is not None]
    assert len(app.sql("SELECT * FROM outcome")) == len(answered)


def assert_told(app: InMemory) -> None:
    """Hold what others are told against what the tills sent."""
    invoices = recorded(one.value or b"" for one in app.events("POS"))
    told = [json.loads(one.value or b"") for one in app.events("loyalty")]
    last = {one["CustomerCardNo"]: round(100 * one["TotalLoyaltyPoints"]) for one in told}
    assert last == totals(invoices)
    numbers = [json.loads(one.value or b"")["InvoiceNumber"] for one in app.events("shipment")]
    assert Counter(numbers) == Counter(shipped(invoices))


@pytest.mark.proves("B-16")
@pytest.mark.parametrize("seed", range(3))
def test_random_traffic_is_what_the_model_says_and_so_are_the_views(seed: int) -> None:
    world = World(seed)
    with world.app as app:
        world.send(commands=200, invoices=15, states=10)

        expected = fold(world.commands())
        assert_as_the_model_says(expected, published(app))
        assert_views(app, expected)
        assert_told(app)


def by_topic(app: InMemory) -> dict[str, list[tuple[object, ...]]]:
    """Return what is on each topic, without the times that a broker gives."""
    names = [topic.name for topic in app.topics.all()]
    return {
        name: [(one.partition, one.key, one.value, one.headers) for one in app.events(name)]
        for name in names
    }


def test_a_log_that_is_replayed_gives_the_same_bytes_and_rows() -> None:
    world, other = World(7), World(7)
    with world.app as app, other.app as again:
        world.send(commands=90, invoices=9, states=6)
        topics = [*app.topics.every_commands(), "POS", "share-holders"]

        other.now = world.now
        asked = again.replay(record for topic in topics for record in app.events(topic))

        found, wanted = by_topic(again), by_topic(app)
        assert {name: Counter(of) for name, of in found.items()} == {
            name: Counter(of) for name, of in wanted.items()
        }
        assert views(again.sql) == views(app.sql)
        by_policies = Counter(
            (one.topic, one.key, one.value)
            for topic in app.topics.every_commands()
            for one in app.events(topic)
            if b"policy:" in (one.value or b"") or b"till:" in (one.value or b"")
        )
        assert Counter(map(sent, asked)) == by_policies


def sent(output: OutputRecord) -> tuple[object, ...]:
    assert pairs(output.headers) == []
    return output.topic, output.key, output.value


class Bug:
    """A policy that fails until it is fixed."""

    def __init__(self) -> None:
        self.fixed = False

    def react(self, event: RecordedEvent) -> Iterator[Dispatch]:
        if not self.fixed:
            raise ZeroDivisionError("a bug")
        yield Dispatch(
            "card-1", AwardPoints(invoice_number="1", total_cents=1, points_hundredths=7)
        )


def test_a_policy_that_fails_is_tried_again_when_its_letter_is_due() -> None:
    bug, times = Bug(), [0]
    late = replace(application, policies=(Policy("late", ("order",), bug.react),))
    with InMemory(late, clock=lambda: times[0]) as app:
        app.send("order-1", PLACE, 0)
        letters = "SELECT status, attempt FROM dead_letter"
        assert app.sql(letters) == [{"status": "WAITING", "attempt": 0}]
        bug.fixed = True
        times[0] = 999
        assert len(app.sql(letters)) == 1
        times[0] = 1000

        assert app.sql(letters) == []
        awarded = app.sql(
            "SELECT aggregate_id, status FROM outcome WHERE command_type = ?", [AWARD]
        )
        assert awarded == [{"aggregate_id": "card-1", "status": "ACCEPTED"}]


def test_a_policy_that_answers_itself_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verdict.testing.cascade.MOST", 100)

    def react(event: RecordedEvent) -> Iterator[Dispatch]:
        if isinstance(event.payload, OrderPlaced | OrderCancelled):
            yield Dispatch(f"{event.aggregate_id}+", PLACE)

    endless = replace(application, policies=(Policy("endless", ("order",), react),))
    with InMemory(endless) as app, pytest.raises(RuntimeError) as stopped:
        app.send("order-1", PLACE, 0)
    assert re.fullmatch(
        r"100 records followed from order.commands:\d:0 and there are more, the last is "
        r"order\.\w+:\d:\d+: a policy answers to what it causes itself; give it an end",
        str(stopped.value),
    )


def test_a_record_of_a_log_lies_where_it_says(world: World) -> None:
    value = b'{"command_id": "c", "aggregate_id": "order-1", "expected_version": 0, "payload": {}}'
    there = LogRecord("order.commands", 3, 40, 5, b"order-1", value)

    assert world.app.replay([there]) == []

    response = world.app.response_to(there.source)
    assert response is not None
    assert (response.reason, response.decided_at) == ("INVALID_COMMAND", 5)
    with pytest.raises(ValueError, match=r"order.commands:3:40 is before 41"):
        world.app.replay([there])
