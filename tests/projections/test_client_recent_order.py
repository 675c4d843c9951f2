from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from projections.client_recent_order import SHOWN
from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderFilled,
    OrderModified,
    OrderPlaced,
)
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import SECOND, START, EventLog
from tests.read_side.accidents import Followed, Shown, Step, follow, of_orders, placed, steps
from tests.tiers import examples
from verdict.model.message import iso_time
from verdict.model.recorded_event import RecordedEvent

COLUMNS = """client, rank, order_id, ticker, side, quantity, filled_quantity, limit_price_cents,
    status, placed_at"""
OF_ADA = "SELECT rank, order_id FROM client_recent_order WHERE client = 'ada' ORDER BY rank"


@pytest.fixture
def shown(read_side: ReadSide) -> Shown:
    """Return rank and order id of ada's orders after batches."""
    return Shown(read_side, EventLog(aggregate_type="order"), "client_recent_order", OF_ADA)


def place(shown: Shown, order_ids: Iterable[str]) -> Rows:
    """Return what is shown after orders of ada were placed in one batch."""
    for order_id in order_ids:
        shown.log.add(order_id, placed("ada"))
    return shown.after_batch()


def ids(count: int) -> list[str]:
    return [f"order-{number:02}" for number in range(1, count + 1)]


def newest_first(order_ids: Iterable[str]) -> Rows:
    return [*enumerate(reversed([*order_ids]), start=1)]


@pytest.mark.proves("O-01", "O-02")
def test_of_31_orders_the_newest_30_are_shown_and_a_deleted_one_lets_the_31st_come_back(
    shown: Shown,
) -> None:
    thirty_one = ids(31)

    assert place(shown, thirty_one) == newest_first(thirty_one[1:])
    deleted = shown.after("order-17", OrderDeleted())
    assert deleted == newest_first(name for name in thirty_one if name != "order-17")
    assert len(deleted) == SHOWN


@pytest.mark.proves("O-01")
def test_of_orders_placed_at_one_time_those_with_the_greater_ids_are_the_newest(
    shown: Shown,
) -> None:
    shown.log.pace = 0
    many = [*ids(39), "order-100", "Order-01"]  # by their bytes: O comes before o, 100 before 11

    assert place(shown, many) == newest_first(sorted(many)[-SHOWN:])


@pytest.mark.proves("O-02")
def test_a_change_is_shown_in_its_place(shown: Shown) -> None:
    place(shown, ["order-1", "order-2", "order-3"])
    changed = OrderModified(quantity=4, limit_price_cents=9)
    shown.after("order-1", changed, OrderFilled(quantity=1, price_cents=9))
    shown.after("order-2", OrderCancelled(cause="regret"))
    shown.after("order-3", OrderFilled(quantity=10, price_cents=9), OrderCompleted())

    def at(seconds: int) -> str:
        return iso_time(START + seconds * SECOND)

    found = shown.read_side.select(f"SELECT {COLUMNS} FROM client_recent_order ORDER BY rank")
    assert found == [
        ("ada", 1, "order-3", "FB", "BUY", 10, 10, 100, "COMPLETED", at(3)),
        ("ada", 2, "order-2", "FB", "BUY", 10, 0, 100, "CANCELLED", at(2)),
        ("ada", 3, "order-1", "FB", "BUY", 4, 1, 9, "PARTIALLY_FILLED", at(1)),
    ]


@pytest.mark.proves("O-03")
def test_the_orders_of_a_client_come_from_all_partitions(shown: Shown) -> None:
    many = ids(40)

    place(shown, many)
    found = shown.after("bobs", placed("bob"))

    assert {shown.log.place_of(name) for name in many[-SHOWN:]} == {*shown.log.partitions}
    assert found == newest_first(many[-SHOWN:])


def oracle(events: Iterable[RecordedEvent]) -> Rows:
    """Return client, place, order id, quantity, filled quantity, status: from the events alone."""
    orders: dict[str, dict[str, Any]] = {}
    for event in events:
        order = orders.setdefault(event.aggregate_id, {"filled": 0, "status": "OPEN"})
        match event.payload:
            case OrderPlaced(client=client, quantity=quantity):
                order |= {"client": client, "quantity": quantity, "at": event.decided_at}
            case OrderModified(quantity=quantity):
                order["quantity"] = quantity
            case OrderFilled(quantity=quantity):
                order["filled"] += quantity
                order["status"] = "PARTIALLY_FILLED"
            case OrderCompleted():
                order["status"] = "COMPLETED"
            case OrderCancelled():
                order["status"] = "CANCELLED"
            case OrderDeleted():
                del orders[event.aggregate_id]
    of_client: dict[str, list[tuple[int, str]]] = {}
    for order_id, order in orders.items():
        of_client.setdefault(order["client"], []).append((order["at"], order_id))
    return [
        (client, place, order_id, *(orders[order_id][n] for n in ("quantity", "filled", "status")))
        for client, placed_at in sorted(of_client.items())
        for place, (_, order_id) in enumerate(sorted(placed_at, reverse=True)[:SHOWN], start=1)
    ]


ORDER_IDS = [f"{when}-{number}" for when in ("earlier", "later") for number in range(65, 72)]
ALL = """SELECT client, rank, order_id, quantity, filled_quantity, status
FROM client_recent_order ORDER BY client, rank"""


@pytest.mark.proves("O-01")
@pytest.mark.slow
@pytest.mark.both_databases
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=steps(of_orders, ORDER_IDS))
def test_whatever_happens_the_newest_orders_are_what_the_events_say(
    read_side: ReadSide, sequence: list[Step]
) -> None:
    """Of two clients many orders are there before, more than are shown."""
    run = Followed(read_side, "client_recent_order", "order", query=ALL, oracle=oracle)
    for number in range(70):
        run.do(("happens", f"earlier-{number}", placed(("ada", "bob")[number % 2])))
    follow(run, sequence)
