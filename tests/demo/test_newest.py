from compose.demo.newest import NewestOrders
from compose.demo.recent import different, replayed
from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderFilled,
    OrderModified,
    OrderPlaced,
)
from tests.projection.event_log import EventLog
from verdict.model.message import Event

PLACED = OrderPlaced(client="ada", ticker="AAPL", side="BUY", quantity=9, limit_price_cents=1)


def newest(*happened: tuple[str, Event]) -> list[tuple[object, ...]]:
    log, orders = EventLog(aggregate_type="order"), NewestOrders()
    for order_id, event in happened:
        orders.take(log.add_unseen(order_id, event))
    return [*orders.rows()]


def test_the_fold_knows_what_becomes_of_an_order() -> None:
    assert newest(
        *((name, PLACED) for name in ("open", "less", "part", "done", "off", "gone")),
        ("less", OrderModified(quantity=4, limit_price_cents=1)),
        ("part", OrderFilled(quantity=2, price_cents=1)),
        ("done", OrderFilled(quantity=9, price_cents=1)),
        ("done", OrderCompleted()),
        ("off", OrderCancelled()),
        ("gone", OrderDeleted()),
    ) == [
        ("ada", 1, "off", 9, 0, "CANCELLED"),
        ("ada", 2, "done", 9, 9, "COMPLETED"),
        ("ada", 3, "part", 9, 2, "PARTIALLY_FILLED"),
        ("ada", 4, "less", 4, 0, "OPEN"),
        ("ada", 5, "open", 9, 0, "OPEN"),
    ]


def test_the_fold_shows_the_newest_30() -> None:
    rows = newest(*((f"o-{number}", PLACED) for number in range(31)))

    assert [row[2] for row in rows] == [f"o-{number}" for number in range(30, 0, -1)]


def test_a_row_that_is_missing_and_one_that_should_not_be_there_are_both_seen() -> None:
    assert different([(1, "a"), (2, "b")], [(1, "a"), (2, "c")]) == [(2, "b"), (2, "c")]


def test_who_is_in_is_who_entered_last() -> None:
    changes = [("ada", "entered"), ("bob", "entered"), ("ada", "left"), ("bob", "left")]

    assert [*replayed([*changes, ("ada", "entered")])] == ["ada"]
