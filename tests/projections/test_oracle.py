"""Whatever happens, in whatever batches and with whatever accidents, the tables are the events."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event as sql_event

from projections.engine import copying
from projections.us_holder import US_EXCHANGES
from schemas.message import Event, iso_time
from schemas.position import (
    PositionAdjusted,
    PositionClosed,
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from schemas.recorded_event import RecordedEvent
from tests.projections.event_log import EventLog, opened
from tests.projections.read_side import ReadSide, Rows

PARTITIONS = 3

clients = st.sampled_from(["ada", "bob", "cleo"])
exchanges = st.sampled_from(["NASDAQ", "IEX", "LON"])
partitions = st.integers(0, PARTITIONS - 1)

happenings = st.tuples(
    st.just("happens"),
    st.sampled_from([f"p-{number}" for number in range(6)]),
    st.one_of(
        st.builds(opened, clients, exchanges),
        st.builds(PositionAdjusted, amount=st.integers(1, 9)),
        st.builds(PositionRelisted, exchange=exchanges),
        st.builds(PositionTransferred, client=clients),
        st.just(PositionClosed()),
    ),
)
steps = st.one_of(
    happenings,
    happenings,
    happenings,
    st.tuples(st.just("batch"), st.sets(partitions), st.booleans()),
    st.tuples(st.just("written again"), st.integers(0, 200)),
    st.tuples(st.just("passed over"), partitions),
    st.just(("crash",)),
    st.just(("restart",)),
)


class Killed(BaseException):
    """The process is gone."""


class Run:
    """A read side that is checked against the oracle after every batch."""

    def __init__(self, read_side: ReadSide) -> None:
        self.read_side = read_side
        self.read_side.clear()
        self.log = EventLog(PARTITIONS)
        self.applier = self.read_side.applier("us_holder")
        self.open: set[str] = set()
        self.shown: set[str] = set()
        self.announced = 0

    def do(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("happens", position_id, payload):
                self.happens(position_id, payload)
            case ("batch", numbers, again):
                self.batch({self.log.partitions[number] for number in numbers}, again)
            case ("written again", number) if self.log.deliveries:
                found = self.log.deliveries[number % len(self.log.deliveries)].record
                assert isinstance(found, RecordedEvent)
                self.log.repeat(found)
            case ("passed over", number):
                self.log.pass_over(self.log.partitions[number])
            case ("crash",):
                self.crash()
            case ("restart",):
                self.applier = self.read_side.applier("us_holder")

    def happens(self, position_id: str, payload: Event) -> None:
        """Write the event, if the rules of a position allow it."""
        if isinstance(payload, PositionOpened) == (position_id in self.open):
            return
        if isinstance(payload, PositionOpened):
            self.open.add(position_id)
        if isinstance(payload, PositionClosed):
            self.open.remove(position_id)
        self.log.add(position_id, payload)

    def batch(self, places: Iterable[Any], again: bool = False) -> None:
        """Apply what is new in some partitions, or (`again`) all that is in them."""
        starts = {place: self.applier.positions.get(place, 0) for place in places}
        if again:
            starts = dict.fromkeys(starts, 0)
        self.applier.apply(
            self.log.between(starts, {place: self.log.ends[place] for place in places})
        )
        self.check()

    def crash(self) -> None:
        """Apply what is new, and be killed before the commit."""
        before = self.read_side.dump()
        sql_event.listen(self.read_side.engine, "commit", _die)
        try:
            self.applier.apply(self.log.everything())
        except Killed:
            pass
        finally:
            sql_event.remove(self.read_side.engine, "commit", _die)
        assert self.read_side.dump() == before
        self.applier = self.read_side.applier("us_holder")

    def check(self) -> None:
        """Compare table and feed with what the events say."""
        wanted = oracle(self.log.events(self.applier.positions))
        assert not self.applier.stands_still
        assert self.read_side.select("SELECT * FROM us_holder ORDER BY client") == wanted
        feed = self.read_side.select("SELECT seq, kind, client FROM us_holder_change ORDER BY seq")
        assert [seq for seq, _, _ in feed] == [*range(1, len(feed) + 1)]
        held = {client for client, _, _ in wanted}
        changed = {("entered", client) for client in held - self.shown}
        changed |= {("left", client) for client in self.shown - held}
        announced = [(kind, client) for _, kind, client in feed[self.announced :]]
        assert sorted(announced) == sorted(changed)
        self.shown, self.announced = held, len(feed)


def _die(connection: object) -> None:
    raise Killed


def oracle(events: Iterable[RecordedEvent]) -> Rows:
    """Return client, number of positions and earliest opening, of the open positions in the US."""
    positions: dict[str, dict[str, Any]] = {}
    for event in {event.event_id: event for event in events}.values():
        if isinstance(event.payload, PositionClosed):
            del positions[event.aggregate_id]
            continue
        if isinstance(event.payload, PositionOpened):
            positions[event.aggregate_id] = {"opened": event.decided_at}
        positions[event.aggregate_id].update(event.payload.model_dump())
    held: dict[str, list[int]] = {}
    for position in positions.values():
        if position["exchange"] in US_EXCHANGES:
            held.setdefault(position["client"], []).append(position["opened"])
    return [(client, len(at), iso_time(min(at))) for client, at in sorted(held.items())]


@pytest.fixture
def copies_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PostgreSQL get some rows by COPY, which in life are many."""
    monkeypatch.setattr(copying, "MANY", 3)


@pytest.mark.usefixtures("copies_early")
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sequence=st.lists(steps, max_size=60))
def test_table_and_feed_are_what_the_events_say(
    read_side: ReadSide, sequence: list[tuple[Any, ...]]
) -> None:
    run = Run(read_side)
    for step in sequence:
        run.do(step)
    run.batch(run.log.partitions)


@pytest.mark.parametrize("cut", [1, 2, 7, 1000])
def test_how_batches_are_cut_does_not_show_in_the_table(read_side: ReadSide, cut: int) -> None:
    log = EventLog(PARTITIONS)
    applier = read_side.applier("us_holder")
    for number in range(200):
        position_id, client = f"p-{number % 17}", f"client-{number % 5}"
        exchange = "LON" if number % 3 else "IEX"
        moves = PositionTransferred(client=client), PositionRelisted(exchange=exchange)
        log.add(position_id, opened(client) if number < 17 else moves[number % 2])
        if number % cut == 0:
            applier.apply(log.batch())
    applier.apply(log.batch())

    rows = read_side.select("SELECT * FROM us_holder ORDER BY client")
    assert rows == oracle(log.events(log.ends)) != []
    assert replayed(read_side.changes()) == {client for client, _, _ in rows}


def replayed(changes: Rows) -> set[str]:
    """Return who is in after these changes; each one must follow from those before it."""
    inside: set[str] = set()
    for client, kind, _ in changes:
        assert (client in inside) == (kind == "left")
        inside ^= {client}
    return inside
