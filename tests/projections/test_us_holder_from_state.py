from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projections.engine.batch import Batch, Carried, Delivery, Partition, Span, Unreadable
from projections.us_holder import US_EXCHANGES
from projections.us_holder_from_state import us_holder_from_state
from schemas.share_holding import ShareHolding
from tests.projections.beside import compared
from tests.projections.read_side import ReadSide, Rows

TOPIC = "share-holders"
PARTITIONS = 3
NAME = "us_holder_from_state"

State = tuple[str, str] | None  # client, exchange


class StateLog:
    """The topic `share-holders`."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.ends = [0] * PARTITIONS
        self._taken = [0] * PARTITIONS

    def put(self, position_id: str, state: State) -> None:
        """Write a position as it is from now on, None once it is closed."""
        value = state and ShareHolding(
            id=position_id, client=state[0], ticker="FB", amount=33, exchange=state[1]
        )
        self.put_record(position_id, Carried(position_id, value or None))

    def put_record(self, position_id: str, record: Carried | Unreadable) -> None:
        partition = crc32(position_id.encode()) % PARTITIONS
        self.deliveries.append(Delivery(TOPIC, partition, self.ends[partition], record))
        self.ends[partition] += 1

    def batch(self) -> Batch:
        """Return what came since the last batch."""
        spans = {
            Partition(TOPIC, number): Span(self._taken[number], end)
            for number, end in enumerate(self.ends)
        }
        self._taken = [*self.ends]
        return Batch(
            [d for d in self.deliveries if d.offset >= spans[Partition(*d[:2])].start], spans
        )

    def compacted(self, tombstones: bool) -> Batch:
        """Return all that compaction leaves: the newest record of each key."""
        newest = {d.record.key: d for d in self.deliveries if isinstance(d.record, Carried)}
        kept = [
            d
            for d in newest.values()
            if tombstones or (isinstance(d.record, Carried) and d.record.value is not None)
        ]
        return Batch(kept, {Partition(TOPIC, n): Span(0, end) for n, end in enumerate(self.ends)})


class Shown:
    """Batches onto the projection, and who holds then."""

    def __init__(self, read_side: ReadSide) -> None:
        self.read_side = read_side
        self.log = StateLog()
        self.applier = read_side.applier(NAME)

    def after(self, *records: tuple[str, State]) -> Rows:
        for position_id, state in records:
            self.log.put(position_id, state)
        self.applier.apply(self.log.batch())
        return holders(self.read_side)


def holders(read_side: ReadSide) -> Rows:
    return read_side.select("SELECT client, positions FROM us_holder_from_state ORDER BY client")


@pytest.fixture
def shown(read_side: ReadSide) -> Shown:
    return Shown(read_side)


def test_the_golden_positions(shown: Shown) -> None:
    assert shown.after(
        ("1", ("client1", "NASDAQ")),
        ("2", ("client1", "LON")),
        ("3", ("client1", "NASDAQ")),
        ("4", ("client2", "NASDAQ")),
        ("5", ("client3", "LON")),
    ) == [("client1", 2), ("client2", 1)]


def test_a_tombstone_closes_what_was_there_last_also_over_a_restart(shown: Shown) -> None:
    shown.after(("1", ("ada", "NYSE")), ("2", ("ada", "NYSE")), ("3", ("bob", "IEX")))
    assert shown.after(("1", None)) == [("ada", 1), ("bob", 1)]

    shown.applier = shown.read_side.applier(NAME)
    assert shown.after(("2", None)) == [("bob", 1)]


def test_tombstones_that_close_nothing_change_nothing(shown: Shown) -> None:
    shown.after(("1", ("ada", "NYSE")), ("2", ("ada", "NYSE")), ("2", None))
    before = rows_of(shown.read_side)

    assert shown.after(("2", None), ("unknown", None), ("unknown", None)) == [("ada", 1)]
    assert rows_of(shown.read_side) == before
    assert not shown.applier.stands_still


def rows_of(read_side: ReadSide) -> dict[str, Rows]:
    """Return the projection's tables as they are."""
    return {name: rows for name, rows in read_side.dump().items() if name.startswith(NAME)}


def test_the_newest_state_counts(shown: Shown) -> None:
    assert shown.after(("1", ("ada", "NYSE")), ("1", ("bob", "NYSE"))) == [("bob", 1)]
    assert shown.after(("1", ("bob", "LON"))) == []
    assert shown.after(("1", None), ("1", ("cleo", "IEX"))) == [("cleo", 1)]


def test_what_counts_as_a_us_exchange_is_configuration(tmp_path: Path) -> None:
    read_side = ReadSide(f"sqlite:///{tmp_path / 'london.db'}", [us_holder_from_state(["LON"])])
    shown = Shown(read_side)

    assert shown.after(("1", ("ada", "NYSE")), ("2", ("bob", "LON"))) == [("bob", 1)]
    read_side.close()


def test_what_cannot_be_read_is_reported_and_nothing_is_lost(shown: Shown) -> None:
    shown.after(("1", ("ada", "NYSE")))
    shown.log.put_record("2", Unreadable("ValidationError: no JSON"))
    shown.log.put("3", ("bob", "NYSE"))
    rest = shown.log.batch()
    shown.applier.apply(rest)

    assert shown.applier.stands_still
    assert holders(shown.read_side) == [("ada", 1)]
    ((error, topic, _),) = shown.read_side.select(
        'SELECT error, topic, "offset" FROM projection_parked'
    )
    assert "not readable: ValidationError: no JSON" in error
    assert topic == TOPIC

    mended = [
        d._replace(record=Carried("2", None)) if isinstance(d.record, Unreadable) else d
        for d in shown.log.deliveries
    ]
    everything = {Partition(TOPIC, n): Span(0, end) for n, end in enumerate(shown.log.ends)}
    shown.read_side.applier(NAME).apply(Batch(mended, everything))
    assert holders(shown.read_side) == [("ada", 1), ("bob", 1)]
    assert shown.read_side.select("SELECT * FROM projection_parked") == []


states = st.none() | st.tuples(
    st.sampled_from(["ada", "bob", "cleo"]), st.sampled_from(["NASDAQ", "IEX", "LON"])
)
steps = st.one_of(
    st.tuples(st.sampled_from("123456"), states),
    st.tuples(st.sampled_from("123456"), states),
    st.sampled_from(["batch", "restart"]),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sequence=st.lists(steps, max_size=40), tombstones=st.booleans())
def test_holders_are_what_the_newest_states_say_and_compaction_does_not_show(
    read_side: ReadSide, sequence: list[tuple[str, State] | str], tombstones: bool
) -> None:
    read_side.clear()
    shown, newest = Shown(read_side), dict[str, State]()
    for step in [*sequence, "batch"]:
        match step:
            case (str(position_id), state):
                shown.log.put(position_id, state)
                newest[position_id] = state
            case "restart":
                shown.applier = read_side.applier(NAME)
            case _:
                counted = Counter(s[0] for s in newest.values() if s and s[1] in US_EXCHANGES)
                assert shown.after() == sorted(counted.items())
    rows = rows_of(read_side)
    assert all(one.equal for one in compared(read_side, NAME, shown.log.deliveries))
    read_side.clear()
    read_side.applier(NAME).apply(shown.log.compacted(tombstones))
    assert rows_of(read_side) == rows
