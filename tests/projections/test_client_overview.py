"""What a client has, over orders and positions: examples, and histories against an oracle."""

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import create_engine

from projections.client_overview import client_overview
from projections.us_exchanges import US_EXCHANGES
from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderFilled,
    OrderModified,
    OrderPlaced,
)
from schemas.position import (
    PositionAdjusted,
    PositionClosed,
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from tests.application import APPLICATION
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import SECOND, START, EventLog, opened
from tests.read_side.accidents import (
    Followed,
    Rules,
    Shown,
    Step,
    follow,
    in_order,
    of_orders,
    of_positions,
    placed,
    steps,
)
from tests.read_side.second_version import compared
from tests.tiers import examples
from verdict.model.message import LARGEST, iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.as_of.materialiser import AsOfRecords, fold
from verdict.read_side.projections.documented_view import query_of
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.streaming.event_log.record import RawRecord
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

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


class Said:
    """What `as_of` asks of the records, of a log in memory."""

    topics = Topics(APPLICATION)

    def __init__(self, log: EventLog) -> None:
        self._log = log

    @property
    def log(self) -> "Said":
        return self

    def read(self, starts: object, ends: Mapping[TopicPartition, int]) -> Iterator[RawRecord]:
        for d in self._log.deliveries:
            record = cast(RecordedEvent, d.record)
            if d.offset < ends[TopicPartition(*d[:2])]:
                yield RawRecord(*d[:3], record.aggregate_id.encode(), d.value)

    def select(self, statement: str, parameters: object) -> list[tuple[Any, ...]]:
        return []


def history(random: Random, count: int) -> EventLog:
    """Return orders and positions with the same ids, some events twice, some late."""
    log, rules, late = EventLog(2, *TYPES), Rules(), []
    names = [f"a-{number}" for number in range(12)]
    names_of_clients, places = ["ada", "bob", "cleo", "dora"], ["NASDAQ", "IEX", "LON"]
    while len(log.deliveries) < count:
        client, number = random.choice(names_of_clients), random.randint(1, 9)
        payload = random.choice(
            [
                placed(client, number + 1000, number),
                opened(client, random.choice(places)),
                OrderFilled(quantity=number, price_cents=1),
                OrderModified(quantity=number + 2000, limit_price_cents=number),
                random.choice([OrderCompleted(), OrderCancelled(), OrderDeleted()]),
                PositionTransferred(client=client),
                PositionRelisted(exchange=random.choice(places)),
                random.choice([PositionClosed(), PositionAdjusted(amount=number)]),
            ]
        )
        name = random.choice(names)
        if not rules.allow(name, payload):
            continue
        if random.random() < 0.05:
            late.append(log.add_unseen(name, payload))
            continue
        log.add(name, payload)
        if random.random() < 0.1:
            log.repeat(cast(RecordedEvent, random.choice(log.deliveries).record))
        if late and random.random() < 0.2:
            log.repeat(late.pop())
    return log


@pytest.mark.proves("V-01", "A-03")
@pytest.mark.parametrize("seed", [1, 2])
def test_live_built_again_and_as_of_any_position_it_is_what_the_events_say(
    read_side: ReadSide, seed: int
) -> None:
    random = Random(seed)
    log = history(random, 120)
    archive, applier = (read_side.applier(name) for name in ("event_archive", "client_overview"))
    archive.apply(log.everything())
    reached = dict.fromkeys(log.partitions, 0)
    for _ in range(4):
        ends = {place: random.randint(reached[place], end) for place, end in log.ends.items()}
        applier.apply(log.between(reached, ends))
        reached = ends

        events = in_order(log.events(reached))
        assert read_side.select(OVERVIEW) == oracle(events) == as_of(log, reached)
    half = START + random.randint(0, 120) * SECOND
    events = [event for event in in_order(log.events(log.ends)) if event.decided_at <= half]
    assert as_of(log, log.ends, half) == oracle(events) != []

    applier.apply(log.everything())
    found = compared(read_side, "client_overview", log.deliveries)
    assert all(one.equal and one.live.rows for one in found)


def as_of(log: EventLog, ends: Mapping[TopicPartition, int], until: int = 2**62) -> Rows:
    """Return what is told as of a position, or of a time."""
    projection, engine = compile_projection(client_overview), create_engine("sqlite://")

    def wanted(delivery: Delivery) -> bool:
        return cast(RecordedEvent, delivery.record).decided_at <= until

    fold(engine, projection, cast(AsOfRecords, Said(log)), ends, wanted)
    with engine.connect() as connection:
        shown = query_of(projection.views["client_overview"]).order_by("client")
        rows = [tuple(row) for row in connection.execute(shown)]
    engine.dispose()
    return [(*row[:-1], iso_time(row[-1])) for row in rows]
