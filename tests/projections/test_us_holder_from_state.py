import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projections.us_exchanges import US_EXCHANGES
from projections.us_holder_from_state import Holding, evolve, us_holder_from_state
from schemas.share_holding import ShareHolding
from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide, Rows
from tests.read_side.second_version import compared, held_in_one_go
from tests.read_side.state_log import BAD, TOPIC, State, StateLog
from tests.tiers import examples
from verdict.errors import VerdictError
from verdict.operations.repair.blocked_aggregates import BlockedAggregates
from verdict.operations.repair.operator import NothingWaitsError, OperatorIdentity
from verdict.read_side.apply.batch import UnreadableRecord
from verdict.read_side.catalog import declared
from verdict.read_side.projections.kind_tables import compile_projection

NAME = "us_holder_from_state"
HELD = (
    "SELECT aggregate_type, aggregate_id, version_needed, version_seen, error "
    "FROM projection_blocked ORDER BY aggregate_id"
)
STOPPED = "SELECT error FROM projection_stopped"


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


def rows_of(read_side: ReadSide) -> dict[str, Rows]:
    """Return the projection's tables as they are."""
    return {name: rows for name, rows in read_side.dump().items() if name.startswith(NAME)}


def held(read_side: ReadSide) -> dict[str, int]:
    """Return key → version of the record at fault, of the keys that are held with an error."""
    found = read_side.select(HELD)
    assert all(kind == TOPIC and needed == seen for kind, _, needed, seen, _ in found)
    assert all(error for *_, error in found)
    return {key: needed for _, key, needed, *_ in found}


def test_what_the_code_cannot_apply_is_held_too(new_database: NewDatabase) -> None:
    def buggy(row: Holding | None, state: ShareHolding) -> Holding:
        if state.client == "mallory":
            raise ZeroDivisionError("a bug")
        return evolve(row, state)

    read_side = ReadSide(
        new_database(), [replace(compile_projection(us_holder_from_state), evolve=buggy)]
    )
    shown = Shown(read_side)

    assert shown.after(("1", ("mallory", "NYSE")), ("2", ("ada", "NYSE"))) == [("ada", 1)]
    assert re.search(r"py, line \d+\); the next", read_side.select(HELD)[0][-1])

    read_side.projections[NAME] = compile_projection(us_holder_from_state)
    fixed = compared(read_side, NAME, shown.log.deliveries)
    assert [(one.live.rows, one.built.rows) for one in fixed] == [(1, 2), (1, 2)]
    read_side.close()


def test_a_record_without_a_key_parks_the_projection(shown: Shown) -> None:
    shown.after(("1", ("ada", "NYSE")))
    shown.log.put_record("2", UnreadableRecord("ValueError: the record has no key"))

    assert shown.after(("3", ("bob", "NYSE"))) == [("ada", 1)]
    assert shown.applier.is_stopped
    ((error,),) = shown.read_side.select(STOPPED)
    assert "not readable: ValueError: the record has no key" in error


@pytest.mark.proves("H-02")
def test_operators_see_it_with_what_helps(shown: Shown) -> None:
    _, _, offset = shown.log.next_place("a/1")
    shown.after(("a/1", BAD))
    operator, by = (
        BlockedAggregates(APPLICATION, shown.read_side.engine, declared(APPLICATION)),
        OperatorIdentity("ada", "a test"),
    )
    address = f"{NAME}/{TOPIC}/a/1"

    [item] = operator.listed()
    assert (item["id"], item["kind"], item["behind"]) == (address, "state", 0)
    assert (item["what"], item["topic"], item["offset"]) == (
        f"state, offset {offset}",
        TOPIC,
        offset,
    )
    assert "state of 'a/1': not readable" in item["error"]
    told = operator.shown(address)
    assert (told["payload"], told["replacement"], told["interventions"]) == (None, None, [])

    before = shown.read_side.dump()
    verbs = (
        partial(operator.retry, address, by),
        partial(operator.skip, address, by),
        partial(operator.edit, address, b"{}", by),
    )
    for verb in verbs:
        with pytest.raises(VerdictError, match="write the whole state to share-holders again"):
            verb()
    assert shown.read_side.dump() == before

    shown.after(("a/1", None))
    assert [*operator.listed()] == []
    with pytest.raises(NothingWaitsError):
        operator.retry(address, by)


states = st.none() | st.tuples(
    st.sampled_from(["ada", "bob", "cleo"]), st.sampled_from(["NASDAQ", "IEX", "LON"])
)
puts = st.tuples(st.sampled_from("123456"), states)
steps = st.one_of(
    puts,
    puts,
    st.tuples(st.sampled_from("123456"), st.just(BAD)),
    st.sampled_from(["batch", "restart", "again"]),
)


class Oracle:
    """What the records say, in plain dictionaries."""

    def __init__(self) -> None:
        self.known = dict[str, tuple[str, str]]()  # the last state that could be read
        self.at_fault = dict[str, int]()  # version of the newest record, which cannot be read

    def put(self, key: str, state: State, offset: int) -> None:
        self.at_fault.pop(key, None)
        if isinstance(state, UnreadableRecord):
            self.at_fault[key] = offset + 1
            return
        self.known.pop(key, None)
        if state is not None:
            self.known[key] = state

    def holders(self, but: Collection[str] = ()) -> Rows:
        """Return client and number of positions, without those of the keys in `but`."""
        counted = Counter(
            client
            for key, (client, exchange) in self.known.items()
            if exchange in US_EXCHANGES and key not in but
        )
        return sorted(counted.items())


@pytest.mark.proves("H-02")
@pytest.mark.slow
@pytest.mark.both_databases
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(steps, max_size=40), tombstones=st.booleans())
def test_holders_are_what_the_newest_states_say_and_compaction_does_not_show(
    read_side: ReadSide, sequence: list[tuple[str, State] | str], tombstones: bool
) -> None:
    read_side.clear()
    shown, oracle = Shown(read_side), Oracle()
    for step in [*sequence, "batch"]:
        match step:
            case (str(key), state):
                oracle.put(key, state, shown.log.next_place(key)[2])
                shown.log.put(key, state)
            case "restart":
                shown.applier = read_side.applier(NAME)
            case _:
                shown.applier.apply(
                    shown.log.everything() if step == "again" else shown.log.batch()
                )
                assert holders(read_side) == oracle.holders()
                assert held(read_side) == oracle.at_fault
                assert not shown.applier.is_stopped
    rows, faults = rows_of(read_side), read_side.select(HELD)
    assert all(one.equal for one in compared(read_side, NAME, shown.log.deliveries))
    assert held_in_one_go(NAME, shown.log.deliveries) == faults
    read_side.clear()
    read_side.applier(NAME).apply(shown.log.compacted(tombstones))
    assert read_side.select(HELD) == faults
    assert holders(read_side) == oracle.holders(but=oracle.at_fault)
    if not oracle.at_fault:
        assert rows_of(read_side) == rows
