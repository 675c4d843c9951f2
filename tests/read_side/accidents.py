"""A projection that is followed through batches of any cut, repeated events, crashes, restarts."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import event as sql_event

from schemas.enrolment import (
    LoginRecorded,
    ParticipantActivated,
    ParticipantDeactivated,
    ParticipantEnrolled,
    ParticipantMoved,
)
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
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import EventLog, opened
from tests.read_side.second_version import compared
from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.partitions import TopicPartition

PARTITIONS = 3
NEW, OPEN, ENDED, GONE = "new", "open", "ended", "gone"
MAY: dict[type[Event], tuple[tuple[str, ...], str]] = {  # from these, and what it is then
    OrderPlaced: ((NEW,), OPEN),
    OrderCompleted: ((OPEN,), ENDED),
    OrderCancelled: ((OPEN,), ENDED),
    OrderDeleted: ((OPEN, ENDED), GONE),
    PositionOpened: ((NEW,), OPEN),
    PositionClosed: ((OPEN,), NEW),
    ParticipantEnrolled: ((NEW,), OPEN),
}

Step = tuple[Any, ...]

clients = st.sampled_from(["ada", "bob", "cleo"])
exchanges = st.sampled_from(["NASDAQ", "IEX", "LON"])
programs = st.sampled_from(["chess", "go", "shogi"])
numbers, quantities = st.integers(1, 9), st.integers(1000, 1009)


def placed(client: str, quantity: int = 10, price: int = 100) -> OrderPlaced:
    """Return the placing of an order whose ticker and side do not matter."""
    return OrderPlaced(
        client=client, ticker="FB", side="BUY", quantity=quantity, limit_price_cents=price
    )


of_orders: st.SearchStrategy[Event] = st.one_of(
    st.builds(placed, clients, quantities, numbers),
    st.builds(OrderModified, quantity=quantities, limit_price_cents=numbers),
    st.builds(OrderFilled, quantity=numbers, price_cents=numbers),
    st.sampled_from([OrderCompleted(), OrderCancelled(), OrderDeleted()]),
)
of_positions: st.SearchStrategy[Event] = st.one_of(
    st.builds(opened, clients, exchanges),
    st.builds(PositionAdjusted, amount=numbers),
    st.builds(PositionRelisted, exchange=exchanges),
    st.builds(PositionTransferred, client=clients),
    st.just(PositionClosed()),
)
of_enrolments: st.SearchStrategy[Event] = st.one_of(
    st.builds(ParticipantEnrolled, program=programs),
    st.builds(ParticipantMoved, program=programs),
    st.builds(LoginRecorded, at=st.integers(1_795_262_400_000, 1_795_262_400_050)),
    st.sampled_from([ParticipantActivated(), ParticipantDeactivated()]),
)


def steps(
    happenings: st.SearchStrategy[Event], aggregate_ids: Sequence[str], types: int = 1
) -> Any:
    """Return lists of what may happen: to the aggregates, and to what follows them."""
    partitions = st.integers(0, PARTITIONS * types - 1)
    happens = st.tuples(st.just("happens"), st.sampled_from(aggregate_ids), happenings)
    return st.lists(
        st.one_of(
            happens,
            happens,
            happens,
            st.tuples(st.just("happens, written late"), st.sampled_from(aggregate_ids), happenings),
            st.tuples(st.just("late one written"), st.integers(0, 200)),
            st.tuples(st.just("batch"), st.sets(partitions), st.booleans()),
            st.tuples(st.just("written again"), st.integers(0, 200)),
            st.tuples(st.just("passed over"), partitions),
            st.tuples(st.just("time"), st.sampled_from([0, 1, 1000])),
            st.just(("crash",)),
            st.just(("restart",)),
        ),
        max_size=60,
    )


class Killed(BaseException):
    """The process is gone."""


class Rules:
    """Which event may follow, as the rules of the aggregates have it."""

    def __init__(self) -> None:
        self._now: dict[tuple[str, str], str] = {}

    def allow(self, name: str, payload: Event) -> bool:
        """Tell whether the event may happen, and note that it did."""
        key = type(payload).__name__[:5], name  # of the aggregate's type, nearly
        begins, then = MAY.get(type(payload), ((OPEN,), OPEN))
        allowed = self._now.get(key, NEW) in begins
        if allowed:
            self._now[key] = then
        return allowed


def in_order(events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """Return the events up to the first gap of each aggregate, once, by time."""
    found = {}
    reached: dict[tuple[str, str], int] = {}
    for event in sorted(events, key=lambda one: (one.aggregate_id, one.version)):
        key = event.aggregate_type, event.aggregate_id
        known = reached.get(key, 0)
        if event.version <= known + 1:
            reached[key] = max(known, event.version)
            found[event.event_id] = event
    return sorted(found.values(), key=attrgetter("decided_at", "aggregate_id", "version"))


class Followed:
    """A projection that is checked after every batch: `query` must give what `oracle` says.

    The oracle gets the events that show, each once and in their order.
    """

    def __init__(
        self,
        read_side: ReadSide,
        projection: str,
        *aggregate_types: str,
        query: str = "",
        oracle: Callable[[Sequence[RecordedEvent]], Rows] = lambda events: [],
    ) -> None:
        self.read_side = read_side
        self.read_side.clear()
        self.log = EventLog(PARTITIONS, *aggregate_types)
        self.allowed = Rules().allow
        self._query, self._oracle = query, oracle
        self._name = projection
        self._late: list[RecordedEvent] = []
        self._archive = self.read_side.applier("event_archive")
        self.applier = self.read_side.applier(projection)

    def check(self, events: Sequence[RecordedEvent]) -> None:
        """Compare what readers see with what `events` say."""
        assert self.read_side.select(self._query) == self._oracle(events)

    def do(self, step: Step) -> None:
        """Take one step."""
        match step:
            case ("happens", aggregate_id, payload) if self.allowed(aggregate_id, payload):
                self.log.add(aggregate_id, payload)
            case ("happens, written late", aggregate_id, payload) if self.allowed(
                aggregate_id, payload
            ):
                self._late.append(self.log.add_unseen(aggregate_id, payload))
            case ("late one written", number) if self._late:
                self.log.repeat(self._late.pop(number % len(self._late)))
            case ("batch", numbers, again):
                self.batch([self.log.partitions[number] for number in numbers], again)
            case ("written again", number) if self.log.deliveries:
                found = self.log.deliveries[number % len(self.log.deliveries)].record
                assert isinstance(found, RecordedEvent)
                self.log.repeat(found)
            case ("passed over", number):
                self.log.pass_over(self.log.partitions[number])
            case ("time", pace):
                self.log.pace = pace
            case ("crash",):
                self.crash()
            case ("restart",):
                self.applier = self.read_side.applier(self._name)

    def batch(self, places: Sequence[TopicPartition], again: bool = False) -> None:
        """Apply what is new in some partitions, or (`again`) all that is in them."""
        starts = {place: 0 if again else self.applier.positions.get(place, 0) for place in places}
        ends = {place: self.log.ends[place] for place in places}
        if self._name != "event_archive":
            self._archive.apply(self.log.everything())
        self.applier.apply(self.log.between(starts, ends))
        assert not self.applier.is_stopped
        self.check(self.seen(self.log.events(self.applier.positions)))

    def seen(self, events: Sequence[RecordedEvent]) -> Sequence[RecordedEvent]:
        """Return, of the events before the position, those that may show by now."""
        return in_order(events)

    def check_built_in_one_go(self) -> None:
        """Compare the tables with those that are built from the whole log at once.

        On SQLite, as PostgreSQL takes long to make tables; `test_kinds` does it there.
        """
        if self.read_side.projections[self._name].tables and not self.read_side.is_postgresql:
            deliveries = self.log.deliveries
            assert all(one.equal for one in compared(self.read_side, self._name, deliveries))

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
        self.applier = self.read_side.applier(self._name)


class Shown:
    """Batches onto a projection, and what readers see after each."""

    def __init__(self, read_side: ReadSide, log: EventLog, projection: str, query: str) -> None:
        self.read_side = read_side
        self.log = log
        self.applier = read_side.applier(projection)
        self._query = query

    def after(self, name: str, *events: Event) -> Rows:
        """Return what is shown after one batch with these events of an aggregate."""
        self.log.add(name, *events)
        return self.after_batch()

    def after_batch(self) -> Rows:
        """Return what is shown after one batch with all that happened."""
        self.applier.apply(self.log.batch())
        assert not self.applier.is_stopped
        return self.read_side.select(self._query)


def follow(run: Followed, sequence: Sequence[Step]) -> None:
    """Take all steps, and a last batch over everything."""
    for step in sequence:
        run.do(step)
    run.batch(run.log.partitions)
    run.check_built_in_one_go()


def _die(connection: object) -> None:
    raise Killed
