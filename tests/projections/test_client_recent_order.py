from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projections.client_recent_order import SHOWN, Order, evolve
from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderFilled,
    OrderModified,
    OrderPlaced,
)
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import AN_EVENT, SECOND, START, EventLog
from tests.read_side.accidents import Followed, Step, follow, steps
from tests.tiers import examples
from verdict.model.message import Event, iso_time
from verdict.model.recorded_event import RecordedEvent

A_BUY = Order("ada", "AAPL", "BUY", 10, 0, 150_00, "OPEN", placed_at=7)
COLUMNS = """client, rank, order_id, ticker, side, quantity, filled_quantity, limit_price_cents,
    status, placed_at"""


def placed(client: str, quantity: int = 10) -> OrderPlaced:
    """Return the placing of an order whose other values do not matter."""
    return OrderPlaced(
        client=client, ticker="AAPL", side="BUY", quantity=quantity, limit_price_cents=150_00
    )


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        (None, placed("ada"), A_BUY._replace(placed_at=AN_EVENT.decided_at)),
        (
            A_BUY,
            OrderModified(quantity=8, limit_price_cents=9),
            A_BUY._replace(quantity=8, limit_price_cents=9),
        ),
        (
            A_BUY._replace(filled_quantity=2),
            OrderFilled(quantity=3, price_cents=1),
            A_BUY._replace(filled_quantity=5, status="PARTIALLY_FILLED"),
        ),
        (A_BUY, OrderCompleted(), A_BUY._replace(status="COMPLETED")),
        (A_BUY, OrderCancelled(), A_BUY._replace(status="CANCELLED")),
        (A_BUY, OrderDeleted(), None),
    ],
)
def test_what_each_event_makes_of_an_order(
    before: Order | None, event: Event, after: Order | None
) -> None:
    assert evolve(before, AN_EVENT._replace(payload=event)) == after


@pytest.fixture
def orders() -> EventLog:
    """Return an empty `order.events`."""
    return EventLog(aggregate_type="order")


class Shown:
    """Batches onto `client_recent_order`, and what is shown after them."""

    def __init__(self, read_side: ReadSide, log: EventLog) -> None:
        self._read_side = read_side
        self._log = log
        self._applier = read_side.applier("client_recent_order")

    def after(self, *happened: tuple[str, Event]) -> Rows:
        """Return place and order id of ada's orders after one batch with these events."""
        for order_id, event in happened:
            self._log.add(order_id, event)
        self._applier.apply(self._log.batch())
        assert not self._applier.is_stopped
        return self._read_side.select(
            "SELECT rank, order_id FROM client_recent_order WHERE client = 'ada' ORDER BY rank"
        )


@pytest.fixture
def shown(read_side: ReadSide, orders: EventLog) -> Shown:
    return Shown(read_side, orders)


def ids(count: int) -> list[str]:
    return [f"order-{number:02}" for number in range(1, count + 1)]


def newest_first(order_ids: Iterable[str]) -> Rows:
    return [*enumerate(reversed([*order_ids]), start=1)]


@pytest.mark.proves("O-01", "O-02")
def test_of_31_orders_the_newest_30_are_shown_and_a_deleted_one_lets_the_31st_come_back(
    shown: Shown,
) -> None:
    thirty_one = ids(31)

    assert shown.after(*((name, placed("ada")) for name in thirty_one)) == newest_first(
        thirty_one[1:]
    )
    deleted = shown.after(("order-17", OrderDeleted()))
    assert deleted == newest_first(name for name in thirty_one if name != "order-17")
    assert len(deleted) == SHOWN


@pytest.mark.proves("O-01")
def test_of_orders_placed_at_one_time_those_with_the_greater_ids_are_the_newest(
    shown: Shown, orders: EventLog
) -> None:
    orders.pace = 0
    many = [*ids(39), "order-100", "Order-01"]  # by their bytes: O comes before o, 100 before 11

    assert shown.after(*((name, placed("ada")) for name in many)) == newest_first(
        sorted(many)[-SHOWN:]
    )


@pytest.mark.proves("O-02")
def test_a_change_is_shown_in_its_place(shown: Shown, read_side: ReadSide) -> None:
    shown.after(("order-1", placed("ada")), ("order-2", placed("ada")), ("order-3", placed("ada")))
    shown.after(
        ("order-1", OrderModified(quantity=4, limit_price_cents=9)),
        ("order-1", OrderFilled(quantity=1, price_cents=9)),
        ("order-2", OrderCancelled(cause="regret")),
        ("order-3", OrderFilled(quantity=10, price_cents=9)),
        ("order-3", OrderCompleted()),
    )

    def at(seconds: int) -> str:
        return iso_time(START + seconds * SECOND)

    found = read_side.select(f"SELECT {COLUMNS} FROM client_recent_order ORDER BY rank")
    assert found == [
        ("ada", 1, "order-3", "AAPL", "BUY", 10, 10, 150_00, "COMPLETED", at(3)),
        ("ada", 2, "order-2", "AAPL", "BUY", 10, 0, 150_00, "CANCELLED", at(2)),
        ("ada", 3, "order-1", "AAPL", "BUY", 4, 1, 9, "PARTIALLY_FILLED", at(1)),
    ]


@pytest.mark.proves("O-03")
def test_the_orders_of_a_client_come_from_all_partitions(shown: Shown, orders: EventLog) -> None:
    many = ids(40)

    found = shown.after(*((name, placed("ada")) for name in many), ("bobs", placed("bob")))

    assert {orders.place_of(name) for name in many[-SHOWN:]} == set(orders.partitions)
    assert found == newest_first(many[-SHOWN:])


@pytest.mark.proves("O-01")
def test_reading_one_client_reads_two_short_stretches_of_indexes(read_side: ReadSide) -> None:
    if read_side.engine.dialect.name != "sqlite":
        return  # the words of SQLite's plans
    statement = "SELECT * FROM client_recent_order WHERE client = 'ada'"
    with read_side.engine.connect() as connection:
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")]

    assert {step for step in plan if "_v1" in step} == {
        "SEARCH client_recent_order_v1 USING INDEX "
        "sqlite_autoindex_client_recent_order_v1_1 (group_key=?)",
        "SEARCH client_recent_order_row_v1 USING INDEX "
        "client_recent_order_row_v1_newest (group_key=? AND placed_at>?)",
        "SEARCH other USING COVERING INDEX "  # of each, the few that are as new or newer
        "client_recent_order_row_v1_newest (group_key=? AND placed_at>?)",
    }


def oracle(events: Iterable[RecordedEvent]) -> Rows:
    """Return client, place, order id, quantity, filled quantity, status: from the events alone."""
    orders: dict[str, dict[str, Any]] = {}
    for event in {event.event_id: event for event in events}.values():
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


class RecentOrders(Followed):
    """Many orders of two clients, so that there are more than are shown."""

    def __init__(self, read_side: ReadSide) -> None:
        super().__init__(read_side, "client_recent_order", "order")
        self._begun: set[str] = set()
        self._ended: set[str] = set()
        for number in range(70):
            self.do(("happens", f"earlier-{number}", placed(("ada", "bob")[number % 2])))

    def allowed(self, aggregate_id: str, payload: Event) -> bool:
        if isinstance(payload, OrderPlaced) == (aggregate_id in self._begun):
            return False
        if aggregate_id in self._ended:
            return False
        self._begun.add(aggregate_id)
        if isinstance(payload, OrderDeleted):
            self._ended.add(aggregate_id)
        return True

    def check(self, events: Sequence[RecordedEvent]) -> None:
        found = self.read_side.select(
            "SELECT client, rank, order_id, quantity, filled_quantity, status "
            "FROM client_recent_order ORDER BY client, rank"
        )
        assert found == oracle(events)


happenings = st.one_of(
    st.builds(placed, st.sampled_from(["ada", "bob"]), st.integers(1, 9)),
    st.builds(OrderModified, quantity=st.integers(1, 9), limit_price_cents=st.just(1)),
    st.builds(OrderFilled, quantity=st.integers(1, 9), price_cents=st.just(1)),
    st.sampled_from([OrderCompleted(), OrderCancelled(), OrderDeleted()]),
    st.just(OrderDeleted()),
)
order_ids = [f"{when}-{number}" for when in ("earlier", "later") for number in range(65, 72)]


@pytest.mark.proves("O-01")
@pytest.mark.slow
@pytest.mark.both_databases
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=steps(happenings, order_ids))
def test_whatever_happens_the_newest_orders_are_what_the_events_say(
    read_side: ReadSide, sequence: list[Step]
) -> None:
    follow(RecentOrders(read_side), sequence)
