"""What a client has, over orders and positions: examples, and histories against an oracle."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from projections.us_exchanges import US_EXCHANGES
from schemas.order import OrderCancelled, OrderCompleted, OrderDeleted, OrderFilled, OrderPlaced
from schemas.position import PositionAdjusted, PositionClosed, PositionOpened, PositionTransferred
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import SECOND, START, EventLog, opened
from tests.read_side.accidents import (
    Followed,
    Shown,
    Step,
    follow,
    of_orders,
    of_positions,
    placed,
    steps,
)
from tests.tiers import examples
from verdict.model.message import LARGEST, iso_time
from verdict.model.recorded_event import RecordedEvent

TYPES = "order", "position"
OVERVIEW = "SELECT * FROM client_overview ORDER BY client"
HELD = "SELECT aggregate_type, aggregate_id, version_needed FROM projection_blocked ORDER BY 1, 2"


def at(second: int) -> str:
    """Return when the event of that number happened, from 1 on."""
    return iso_time(START + second * SECOND)


@pytest.fixture
def overview(read_side: ReadSide) -> Shown:
    return Shown(read_side, EventLog(2, *TYPES), "client_overview", OVERVIEW)


@pytest.mark.proves("V-01")
def test_orders_and_positions_of_a_client_are_in_one_row(overview: Shown) -> None:
    assert overview.after("a", placed("ada")) == [("ada", 1, 1000, 0, 0, at(1))]
    assert overview.after("b", opened("ada", "LON")) == [("ada", 1, 1000, 1, 0, at(2))]
    assert overview.after("c", opened("ada", "IEX")) == [("ada", 1, 1000, 2, 1, at(3))]
    assert overview.after("d", placed("ada", 3, 7)) == [("ada", 2, 1021, 2, 1, at(4))]


@pytest.mark.proves("V-01")
def test_an_order_and_a_position_of_one_id_are_two(overview: Shown) -> None:
    overview.after("x", placed("ada"))

    assert overview.after("x", opened("bob")) == [
        ("ada", 1, 1000, 0, 0, at(1)),
        ("bob", 0, 0, 1, 1, at(2)),
    ]
    overview.after("x", OrderDeleted())
    assert overview.after("x", PositionTransferred(client="ada")) == [
        ("ada", 0, 0, 1, 1, at(4)),
        ("bob", 0, 0, 0, 0, at(4)),
    ]
    versions = "SELECT * FROM client_overview_version ORDER BY aggregate_type"
    assert overview.read_side.select(versions) == [("order", "x", 2), ("position", "x", 2)]


@pytest.mark.proves("V-01")
def test_a_transfer_touches_both_clients_and_what_comes_then_only_the_new_one(
    overview: Shown,
) -> None:
    overview.after("a", opened("ada"), PositionTransferred(client="bob"))

    assert overview.after("a", PositionAdjusted(amount=2)) == [
        ("ada", 0, 0, 0, 0, at(2)),
        ("bob", 0, 0, 1, 1, at(3)),
    ]
    assert overview.after("a", PositionTransferred(client="ada")) == [
        ("ada", 0, 0, 1, 1, at(4)),
        ("bob", 0, 0, 0, 0, at(4)),
    ]


@pytest.mark.proves("V-01")
def test_an_order_beyond_what_can_be_counted_counts_as_far_as_that(overview: Shown) -> None:
    overview.after("a", placed("ada"))

    counted = 1000 + 10**15
    assert overview.after("b", placed("ada", 2, LARGEST)) == [("ada", 2, counted, 0, 0, at(2))]
    assert overview.read_side.select(HELD) == []


@pytest.mark.proves("V-01")
def test_of_two_types_with_one_id_only_the_one_with_the_gap_waits(overview: Shown) -> None:
    overview.after("x", placed("ada"), opened("ada"))
    missing = overview.log.add_unseen("x", PositionTransferred(client="bob"))  # 3

    assert overview.after("x", PositionClosed(), OrderDeleted()) == [  # 4, 5
        ("ada", 0, 0, 1, 1, at(5))
    ]
    assert overview.read_side.select(HELD) == [("position", "x", 2)]

    overview.log.repeat(missing)
    overview.read_side.applier("event_archive").apply(overview.log.everything())
    assert overview.after("x") == [("ada", 0, 0, 0, 0, at(5)), ("bob", 0, 0, 0, 0, at(4))]
    assert overview.read_side.select(HELD) == []


def oracle(events: Iterable[RecordedEvent]) -> Rows:
    """Return the overview of every client, from the events alone."""
    things: dict[tuple[str, str], dict[str, Any]] = {}
    touched: dict[str, int] = {}
    for event in events:
        key = event.aggregate_type, event.aggregate_id
        fields = event.payload.model_dump()
        before = things.get(key, {})
        match event.payload:
            case OrderPlaced() | PositionOpened():
                before, after = {}, {"filled": 0, "open": True, **fields}
            case OrderFilled(quantity=quantity):
                after = {**before, "filled": before["filled"] + quantity}
            case OrderCompleted() | OrderCancelled() | OrderDeleted() | PositionClosed():
                after = {**before, "open": False}
            case _:
                after = {**before, **fields}
        things[key] = after
        for client in {thing["client"] for thing in (before, after) if thing}:
            touched[client] = max(touched.get(client, 0), event.decided_at)
    return [(name, *_has(name, things), iso_time(last)) for name, last in sorted(touched.items())]


def _has(client: str, things: Mapping[tuple[str, str], dict[str, Any]]) -> tuple[int, ...]:
    """Return open orders, their worth, open positions, and 1 for a holder of US stock."""
    open_ones = [(k, t) for (k, _), t in things.items() if t["open"] and t["client"] == client]
    orders = [thing for kind, thing in open_ones if kind == "order"]
    held = [thing for kind, thing in open_ones if kind == "position"]
    worth = sum((one["quantity"] - one["filled"]) * one["limit_price_cents"] for one in orders)
    return len(orders), worth, len(held), int(any(h["exchange"] in US_EXCHANGES for h in held))


@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.proves("V-01")
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=steps(of_orders | of_positions, ["a", "b", "c"], types=len(TYPES)))
def test_whatever_happens_it_is_what_the_events_say(
    read_side: ReadSide, sequence: list[Step]
) -> None:
    """With repeated, late and missing events, crashes and restarts; and built again, the same."""
    run = Followed(read_side, "client_overview", *TYPES, query=OVERVIEW, oracle=oracle)
    follow(run, sequence)
