"""B-9: what is held is looked at, edited, replayed, evicted; all else flows in order."""

import json
import threading
from collections.abc import Iterator
from hashlib import sha256
from random import Random
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from schemas.position import PositionAdjusted, PositionClosed, PositionTransferred
from tests.conftest import NewDatabase
from tests.kit.databases import NOW
from tests.kit.log import opened
from tests.postgresql import Server
from tests.read_side.holding import BAD, BY, Holding
from tests.read_side.second_version import compared
from tests.tiers import examples
from verdict.errors import VerdictError
from verdict.model.message import Event, iso_time
from verdict.operations.repair.operator import NothingWaitsError, OperatorIdentity
from verdict.read_side.apply import missing_events as releasing
from verdict.read_side.apply.missing_events import ARCHIVE
from verdict.read_side.schema import creation
from verdict.settings.database_address import ROLES

P1, P7 = "us_holder/position/p-1", "us_holder/position/p-7"
THREE = (
    PositionTransferred(client="bob"),
    PositionAdjusted(amount=2),
    PositionTransferred(client="cleo"),
)


@pytest.fixture
def lot(new_database: NewDatabase) -> Iterator[Holding]:
    lot = Holding(new_database())
    yield lot
    lot.close()


def to(client: str) -> bytes:
    return json.dumps({"type": "PositionTransferred", "client": client}).encode()


def is_rebuilt_alike(lot: Holding) -> bool:
    return all(both.equal for both in compared(lot.read_side, "us_holder", lot.log.deliveries))


@pytest.mark.proves("B-09")
@pytest.mark.parametrize(("verb", "taken"), [("edit", [1, 2, 3, 4, 5]), ("evict", [1, 3, 4, 5])])
def test_three_wait_in_order_behind_one_that_is_edited_or_evicted_and_the_others_flow(
    lot: Holding, verb: str, taken: list[int]
) -> None:
    lot.hold("p-7", *THREE)
    lot.happen("p-1", opened("dora"))
    assert (lot.waiting(), lot.taken("p-7")) == ({P7: 3}, [1])
    assert lot.read_side.holders() == {"ada": 1, "dora": 1}

    if verb == "edit":
        lot.operator.edit(P7, to("eve"), BY)
        lot.happen("p-2", opened("dora"))
        assert (lot.waiting(), lot.taken("p-7")) == ({P7: 3}, [1, 2, 3, 4, 5])  # but a trial
        lot.seen = [event for event in lot.seen if event.version == 1]
        said = lot.operator.retry(P7, BY)
    else:
        said = lot.operator.skip(P7, BY)

    assert said.endswith("and all that waited behind it")
    assert (lot.waiting(), lot.taken("p-7")) == ({}, taken)
    assert lot.read_side.holders()["cleo"] == 1
    lot.happen("p-7", PositionTransferred(client="dora"))  # the service goes on behind it
    assert (lot.waiting(), lot.taken("p-7")) == ({}, [*taken, 6])
    assert set(lot.read_side.holders()) == {"dora"}
    assert is_rebuilt_alike(lot)


@pytest.mark.proves("B-09")
@pytest.mark.parametrize("met_before", [False, True], ids=["then", "before"])
def test_a_second_version_takes_what_was_decided_in_any_batch(
    lot: Holding, met_before: bool
) -> None:
    """As `verify`, `swap` and `rollback` bring one forward, whether it met the events before."""
    lot.hold("p-7", *THREE, BAD, PositionAdjusted(amount=3))
    with lot.read_side.engine.begin() as connection:
        creation.create(connection, [lot.us_holder(2)])
    if met_before:
        lot.beside().apply(lot.log.everything())
    lot.operator.edit(P7, to("eve"), BY)
    lot.operator.retry(P7, BY)
    lot.operator.skip(P7, BY)
    assert lot.waiting() == {}

    lot.beside().apply(lot.log.everything())

    tables = lot.read_side.dump()
    assert tables["us_holder_row_v2"] == tables["us_holder_row_v1"] != []
    assert tables["us_holder_v2"] == tables["us_holder_v1"] != []
    assert lot.read_side.select("SELECT * FROM projection_blocked") == []


@pytest.mark.proves("B-09")
def test_what_was_done_is_there_for_auditors_for_ever(lot: Holding) -> None:
    lot.hold("p/7")
    archived = lot.read_side.dump()["event_archive_v1"]
    address = "us_holder/position/p/7"
    with pytest.raises(VerdictError, match=r"still cannot be applied, and 0 wait.*mallory"):
        lot.operator.retry(address, OperatorIdentity("ada", None))
    lot.operator.edit(address, to("eve"), OperatorIdentity("bob", "mistyped"))
    lot.operator.skip(address, OperatorIdentity("cleo", "a test"))
    assert lot.read_side.dump()["event_archive_v1"] == archived, "events are never changed"

    columns = ("projection", "version", "aggregate_type", "aggregate_id", "event_version")
    assert {*lot.interventions(columns)} == {("us_holder", 1, "position", "p/7", 2)}
    mallory, eve = to("mallory").decode(), to("eve").decode()
    told = lot.interventions(("seq", "kind", "operator", "reason", "before", "after"))
    assert [tuple(_spaced(value) for value in row) for row in told] == [
        (1, "replay", "ada", None, mallory, mallory),
        (2, "edit", "bob", "mistyped", mallory, eve),
        (3, "evict", "cleo", "a test", eve, None),
    ]
    before = lot.read_side.dump()["projection_intervention_v1"]
    with lot.read_side.engine.begin() as connection:
        creation.create(connection, [lot.us_holder(2)])
        creation.show(connection, lot.us_holder(2), ROLES)
        creation.drop(connection, lot.us_holder(1))
    assert lot.read_side.dump()["projection_intervention_v1"] == before


def _spaced(value: object) -> object:
    return json.dumps(json.loads(value)) if str(value).startswith("{") else value  # type: ignore[arg-type]


def test_one_is_shown_with_its_payload_and_all_that_was_done(lot: Holding) -> None:
    lot.hold("p-7", *THREE)
    lot.operator.edit(P7, to("eve"), BY)

    shown = lot.operator.shown(P7)

    assert shown["payload"] == {"type": "PositionTransferred", "client": "mallory"}
    assert shown["replacement"] == {"type": "PositionTransferred", "client": "eve"}
    assert (shown["version"], shown["behind"], shown["since"]) == (2, 3, iso_time(NOW))
    assert (shown["topic"], shown["offset"]) == ("position.events", 1)
    assert "ZeroDivisionError: mallory" in shown["error"]
    [done] = shown["interventions"]
    assert (done["kind"], done["operator"], done["reason"]) == ("edit", "ada", "it was mistyped")


@pytest.mark.proves("B-09")
@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b'{"client": 7}', "client: Input should be a valid string"),
        (b'{"client": "eve", "amount": 1}', "amount: Extra inputs are not permitted"),
        (b"{}", "client: Field required"),
        (b'{"type": "PositionClosed"}', "its type is 'PositionClosed'"),
        (b"[1]", "a payload is a JSON object"),
        (b"{", "EOF while parsing"),
        (b'{"client": "%s"}' % (b"x" * 2**20), "1048576 are allowed"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_with_the_reason(
    lot: Holding, document: bytes, reason: str
) -> None:
    lot.hold("p-7")
    before = lot.read_side.dump()

    with pytest.raises(VerdictError) as refused:
        lot.operator.edit(P7, document, BY)

    assert "no payload for PositionTransferred: " in str(refused.value)
    assert reason in str(refused.value)
    assert lot.read_side.dump() == before


def test_a_payload_whose_row_the_database_refuses_is_kept_and_said(postgresql: Server) -> None:
    incompressible = "".join(map(chr, Random(1).choices(range(0x4E00, 0x9000), k=4000)))
    with postgresql.database() as url:
        lot = Holding(url)
        lot.hold("p-7", PositionAdjusted(amount=2))

        said = lot.operator.edit(P7, to(incompressible), BY)

        assert "is edited, and still cannot be applied: " in said
        assert "index row requires" in said
        lot.restart()
        assert lot.waiting() == {P7: 1}
        lot.operator.skip(P7, BY)
        assert lot.waiting() == {}
        lot.close()


def test_nothing_is_done_where_nothing_is_held_or_not_archived_yet(lot: Holding) -> None:
    lot.log.add("p-1", opened("ada"))
    lot.log.add_unseen("p-1", BAD)
    lot.log.add("p-1", PositionClosed())
    lot.log.add("p-7", opened("ada"), BAD)
    lot.holder.apply(lot.log.batch())

    assert lot.waiting() == {P1: 1, P7: 0}
    assert lot.operator.shown(P7)["payload"] is None
    with pytest.raises(VerdictError, match="version 2 of position 'p-7' is not in the archive yet"):
        lot.operator.skip(P7, BY)
    for verb in (lot.operator.retry, lot.operator.skip):
        with pytest.raises(VerdictError, match="version 2 is not in the archive: it is applied by"):
            verb(P1, BY)
    for address in ("us_holder/position/p-0", "us_holder", "nobody/a/b"):
        with pytest.raises(NothingWaitsError, match="verdict blocked list"):
            lot.operator.retry(address, BY)
    assert lot.interventions(["seq"]) == []


@pytest.mark.proves("A-05")
def test_versions_that_are_lost_for_good_are_passed_over_and_what_came_behind_them_is_applied(
    lot: Holding,
) -> None:
    """G-03: an aggregate that is held for a missing event has a way on, too."""
    lot.happen("p-1", opened("ada"))
    for _ in range(2):
        lot.log.add_unseen("p-1", PositionTransferred(client="bob"))
    lot.happen("p-1", PositionTransferred(client="cleo"), PositionAdjusted(amount=2))
    (listed,) = lot.operator.listed()
    assert listed["kind"] == "gap"
    assert listed["error"] == "version 2 is missing, and 5 has come"
    with pytest.raises(VerdictError, match=f"verdict blocked skip {P1} --reason"):
        lot.operator.edit(P1, to("eve"), BY)

    said = lot.operator.skip(P1, BY)

    assert said == f"{P1} and 1 behind it are passed over, and all that waited behind it"
    assert (lot.waiting(), lot.taken("p-1")) == ({}, [1, 4, 5])
    assert lot.interventions(["event_version", "kind", "operator", "after"]) == [
        (2, "evict", "ada", None),
        (3, "evict", "ada", None),
    ]
    lot.happen("p-1", PositionTransferred(client="dora"))
    assert lot.read_side.holders() == {"dora": 1}
    assert is_rebuilt_alike(lot)


@pytest.mark.proves("A-05")
@pytest.mark.parametrize("most", [2, 1000])
def test_all_that_waits_in_an_aggregate_is_passed_over_if_asked(
    lot: Holding, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(releasing, "MOST", most)
    lot.hold("p-7", *THREE, BAD)
    lot.log.add_unseen("p-7", PositionTransferred(client="nobody"))
    lot.happen("p-7", PositionTransferred(client="eve"))

    said = lot.operator.skip(P7, BY, all_behind=True)

    assert said == f"{P7} and 6 behind it are passed over, and all that waited behind it"
    assert (lot.waiting(), lot.taken("p-7")) == ({}, [1])
    assert lot.read_side.holders() == {"ada": 1}
    lot.happen("p-7", PositionTransferred(client="dora"))
    assert (lot.taken("p-7"), lot.read_side.holders()) == ([1, 9], {"dora": 1})
    assert is_rebuilt_alike(lot)


@pytest.mark.parametrize("is_hashed_anew", [False, True])
def test_an_archived_row_that_was_altered_is_not_shown_for_the_event(
    lot: Holding, is_hashed_anew: bool
) -> None:
    lot.hold("p-7")
    row = {"value": b"altered"} | (
        {"hash": sha256(b"altered").hexdigest()} if is_hashed_anew else {}
    )
    with lot.read_side.engine.begin() as connection:
        altered = update(ARCHIVE).where(ARCHIVE.c.aggregate_id == "p-7", ARCHIVE.c.version == 2)
        assert connection.execute(altered.values(row)).rowcount == 1

    shown = lot.operator.shown(P7)

    assert shown["payload"] is None
    error, why = shown["error"].split("; its payload is not shown: ")
    assert error == next(iter(lot.operator.listed()))["error"]
    assert "mallory" in error
    assert ("event_archive was altered" in why) is not is_hashed_anew


def test_what_a_killed_operator_verb_leaves_is_applied_by_the_service(
    lot: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releasing, "MOST", 2)
    lot.hold("p-7", *THREE)
    monkeypatch.setattr(lot.operator, "_apply_rest", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        lot.operator.skip(P7, BY)
    assert (lot.waiting(), lot.taken("p-7")) == ({}, [1, 3])

    lot.happen("p-1", opened("dora"))
    lot.happen("p-1", PositionAdjusted(amount=2))

    assert lot.taken("p-7") == [1, 3, 4, 5]
    assert lot.read_side.select("SELECT * FROM projection_blocked") == []


@pytest.mark.proves("B-09")
def test_operators_and_the_service_at_the_same_time(lot: Holding) -> None:
    """Neither stops the other, and each event is applied once."""
    names = [f"p-{number}" for number in range(12)]
    for name in names:
        lot.log.add(name, opened("ada"), BAD)
    lot.batch()
    failed: list[Exception] = []

    def evict() -> None:
        try:
            for name in names:
                lot.operator.skip(f"us_holder/position/{name}", BY)
        except Exception as error:
            failed.append(error)

    operator = threading.Thread(target=evict)
    operator.start()
    for number in range(12):
        for name in names:
            lot.log.add(name, PositionTransferred(client=f"c-{number}"))
        lot.batch()
    operator.join()

    assert failed == []
    assert lot.waiting() == {}
    assert all(lot.taken(name) == [1, *range(3, 15)] for name in names)
    assert is_rebuilt_alike(lot)


Action = tuple[str, str]
NAMES = ("p-0", "p-1", "p-2")
CLIENTS = {"open": "ada", "bad": "mallory", "bob": "bob", "cleo": "cleo"}
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["open", "bad", "bob", "cleo", "edit", "evict", "replay", "restart"]),
        st.sampled_from(NAMES),
    ),
    max_size=30,
)


class Oracle:
    """What `us_holder` must show: all events of an aggregate up to one without a decision.

    A replacement counts when the hold is tried: at a replay or a start.
    """

    def __init__(self) -> None:
        self.clients: dict[str, list[str | None]] = {name: [] for name in NAMES}
        self.edited: dict[tuple[str, int], str] = {}
        self.reached = dict.fromkeys(NAMES, 0)

    def go_on(self, name: str) -> None:
        events = self.clients[name]
        while self.reached[name] < len(events) and events[self.reached[name]] != "mallory":
            self.reached[name] += 1

    def try_again(self, name: str) -> None:
        self.go_on(name)
        while (at := (name, self.reached[name])) in self.edited:
            self.clients[name][at[1]] = self.edited.pop(at)
            self.go_on(name)

    def is_held(self, name: str) -> bool:
        return self.reached[name] < len(self.clients[name])

    def holders(self) -> set[str]:
        shown = (self.clients[name][: self.reached[name]] for name in NAMES)
        ends = ([client for client in clients if client] for clients in shown)
        return {clients[-1] for clients in ends if clients}


@pytest.mark.proves("B-09")
@pytest.mark.slow
@pytest.mark.both_databases
@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(actions=ACTIONS)
@pytest.mark.long
def test_whatever_operators_and_the_service_do_it_shows_what_was_decided(
    lot: Holding, actions: list[Action]
) -> None:
    lot.read_side.clear()
    fresh = Holding(lot.read_side.url)
    oracle = Oracle()
    for verb, name in actions:
        _act(fresh, oracle, verb, name)
        assert set(fresh.read_side.holders()) == oracle.holders()
        assert {*fresh.waiting()} == {
            f"us_holder/position/{one}" for one in NAMES if oracle.is_held(one)
        }
    for name in NAMES:
        while oracle.is_held(name):
            _act(fresh, oracle, "evict", name)
    assert is_rebuilt_alike(fresh)
    fresh.close()


def _act(lot: Holding, oracle: Oracle, verb: str, name: str) -> None:
    if verb == "restart":
        lot.restart()
        for one in NAMES:
            oracle.try_again(one)
    elif verb in CLIENTS:
        _happen(lot, oracle, CLIENTS[verb], name)
    elif oracle.is_held(name):
        _intervene(lot, oracle, verb, name)


def _happen(lot: Holding, oracle: Oracle, client: str, name: str) -> None:
    held, begun = oracle.is_held(name), bool(oracle.clients[name])
    client = client if begun else "ada"
    event: Event = PositionTransferred(client=client) if begun else opened(client)
    lot.happen(name, event)
    oracle.clients[name].append(client)
    if not held:
        oracle.go_on(name)


def _intervene(lot: Holding, oracle: Oracle, verb: str, name: str) -> None:
    address, place = f"us_holder/position/{name}", (name, oracle.reached[name])
    if verb == "edit":
        lot.operator.edit(address, to("eve"), BY)
        oracle.edited[place] = "eve"
    elif verb == "evict":
        lot.operator.skip(address, BY)
        oracle.edited.pop(place, None)
        oracle.clients[name][place[1]] = None
        oracle.go_on(name)
    elif place in oracle.edited:
        lot.operator.retry(address, BY)
        oracle.try_again(name)
    else:
        with pytest.raises(VerdictError, match="still cannot be applied"):
            lot.operator.retry(address, BY)
