"""A projection that is followed through batches of any cut, repeated events, crashes, restarts."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import event as sql_event

from tests.kit.databases import ReadSide
from tests.kit.log import EventLog
from tests.read_side.second_version import compared
from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.partitions import TopicPartition

PARTITIONS = 3

Step = tuple[Any, ...]


def steps(
    happenings: st.SearchStrategy[Event], aggregate_ids: Sequence[str], types: int = 1
) -> Any:
    """Return lists of what may happen: to the aggregates, and to who follows them."""
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


def in_order(events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """Return the events up to the first gap of each aggregate, by time."""
    found = []
    reached: dict[tuple[str, str], int] = {}
    for event in sorted(events, key=lambda one: (one.aggregate_id, one.version)):
        key = event.aggregate_type, event.aggregate_id
        known = reached.get(key, 0)
        if event.version <= known + 1:
            reached[key] = max(known, event.version)
            found.append(event)
    return sorted(found, key=lambda one: (one.decided_at, one.aggregate_id, one.version))


class Followed:
    """A projection that is checked after every batch."""

    def __init__(self, read_side: ReadSide, projection: str, *aggregate_types: str) -> None:
        self.read_side = read_side
        self.read_side.clear()
        self.log = EventLog(PARTITIONS, *aggregate_types)
        self._name = projection
        self._late: list[RecordedEvent] = []
        self._archive = self.read_side.applier("event_archive")
        self.applier = self.read_side.applier(projection)

    def allowed(self, aggregate_id: str, payload: Event) -> bool:
        """Tell whether the rules of the aggregate let the event happen, and note that it did."""
        raise NotImplementedError

    def check(self, events: Sequence[RecordedEvent]) -> None:
        """Compare what readers see with what `events` say, which may be there repeatedly.

        They are in order, and none is among them that waits for another one.
        """
        raise NotImplementedError

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

        On SQLite, as PostgreSQL takes long to make tables; `test_built_in_one_go` does it there.
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


def follow(run: Followed, sequence: Sequence[Step]) -> None:
    """Take all steps, and a last batch over everything."""
    for step in sequence:
        run.do(step)
    run.batch(run.log.partitions)
    run.check_built_in_one_go()


def _die(connection: object) -> None:
    raise Killed
