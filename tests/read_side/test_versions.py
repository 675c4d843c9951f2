"""Several versions of a projection side by side: one is seen, and which one changes at once."""

import re
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Connection

from projections.us_holder import Position, evolve, us_holder
from schemas.position import PositionClosed, PositionTransferred
from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.kit.databases import NOW, ReadSide
from tests.kit.log import EventLog, opened
from verdict.model.recorded_event import RecordedEvent
from verdict.projections import Rows
from verdict.projections import projection as declare
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Projection
from verdict.read_side.rebuild.comparison import compare
from verdict.read_side.schema import creation
from verdict.read_side.tables import versions
from verdict.read_side.tables.versions import SupersededError
from verdict.settings.database_address import ROLES
from verdict.wire.topics import Topics

pytestmark = pytest.mark.both_databases

FIRST, SECOND = compile_projection(us_holder, 1), compile_projection(us_holder, 2)


@pytest.fixture
def built(read_side: ReadSide, log: EventLog) -> ReadSide:
    """Return a read side with three holders, and a second version built next to the first."""
    for client in ("ada", "bob", "cleo"):
        log.add(f"p-{client}", opened(client))
    log.add("p-bob", PositionTransferred(client="bo"))
    read_side.applier("us_holder").apply(log.batch())
    build(read_side, SECOND, log)
    return read_side


def build(read_side: ReadSide, projection: Projection, log: EventLog) -> None:
    with read_side.engine.begin() as connection:
        creation.create(connection, [projection])
    beside(read_side, projection).apply(log.everything())


def beside(read_side: ReadSide, projection: Projection) -> Applier:
    return Applier(read_side.engine, projection, Topics(APPLICATION), lambda: NOW, live=False)


def swap(connection: Connection, projection: Projection, before: Projection) -> None:
    creation.show(connection, projection, ROLES)
    assert projection.feed is not None
    projection.feed.announce(connection, before.feed, NOW)


@pytest.mark.proves("H-09")
def test_a_second_version_is_built_in_silence_and_holds_the_same(
    built: ReadSide,
) -> None:
    with built.engine.connect() as connection:
        pairs = zip(FIRST.tables, SECOND.tables, strict=True)
        compared = [compare(connection, *pair) for pair in pairs]

    assert [(one.live_table, one.equal, one.live.rows) for one in compared] == [
        ("us_holder_row_v1", True, 3),
        ("us_holder_v1", True, 3),
    ]
    assert len(built.changes()) == 3
    live = "SELECT version FROM projection_live WHERE projection = 'us_holder'"
    assert built.select(live) == [(1,)]


@pytest.mark.proves("B-06")
def test_a_row_that_differs_is_named_with_what_both_have(built: ReadSide) -> None:
    table = SECOND.tables[0]
    with built.engine.begin() as connection:
        connection.execute(
            table.update().where(table.c.aggregate_id == "p-ada").values(client="eve")
        )
        connection.execute(table.delete().where(table.c.aggregate_id == "p-cleo"))
        compared = compare(connection, FIRST.tables[0], table)

    ada, cleo = compared.differing
    assert not compared.equal
    assert (ada.key, ada.live and ada.live["client"], ada.built and ada.built["client"]) == (
        ("p-ada",),
        "ada",
        "eve",
    )
    assert (cleo.key, cleo.built) == (("p-cleo",), None)
    assert cleo.live is not None
    assert cleo.live["opened_at"].endswith("Z")  # a person reads it


@pytest.mark.proves("B-06")
def test_a_process_that_advances_a_version_that_is_not_seen_any_more_is_stopped(
    built: ReadSide, log: EventLog
) -> None:
    running = built.applier("us_holder")
    with built.engine.begin() as connection:
        swap(connection, SECOND, FIRST)
    before = built.dump()
    log.add("p-dan", opened("dan"))
    batch = log.batch()

    with pytest.raises(
        SupersededError, match="v1 is not the one that readers see any more, that is v2"
    ):
        running.apply(batch)

    assert built.dump() == before
    Applier(built.engine, SECOND, Topics(APPLICATION), lambda: NOW).apply(batch)
    assert set(built.holders()) == {"ada", "bo", "cleo", "dan"}
    assert [change[:2] for change in built.changes()][-1] == ("dan", "entered")


@pytest.mark.proves("D-04")
def test_tables_that_were_built_with_other_settings_are_not_filled(
    built: ReadSide, log: EventLog
) -> None:
    tables = built.dump()
    del tables[versions.table.name]
    log.add("p-bob", PositionClosed())
    batch = log.batch()
    foreign = compile_projection(us_holder, us_exchanges=["NYSE"])

    for live in (False, True):
        refused = Applier(built.engine, foreign, Topics(APPLICATION), lambda: NOW, live=live)
        refused.apply(batch)

        assert refused.is_stopped
        assert "v1 was built with" in str(refused.failure)
        assert bool(built.select("SELECT * FROM projection_stopped")) is live
    assert built.dump().items() >= tables.items()
    ((said,),) = built.select("SELECT error FROM projection_stopped")
    assert 'is configured with \'{"us_exchanges": ["NYSE"]}\' now' in said

    set_back = built.applier("us_holder")
    set_back.apply(ProjectionBatch([], {}))
    assert built.select("SELECT * FROM projection_stopped") == []
    set_back.apply(batch)
    assert set(built.holders()) == {"ada", "cleo"}


@pytest.mark.proves("B-06")
def test_a_swap_tells_the_feed_in_what_the_versions_differ_and_nothing_else(
    built: ReadSide, log: EventLog
) -> None:
    def blind(position: Position | None, event: RecordedEvent[Any]) -> Position | None:
        return None if event.aggregate_id == "p-ada" else evolve(position, event)

    third = replace(compile_projection(us_holder, 3, us_exchanges=["NASDAQ"]), evolve=blind)
    build(built, third, log)
    with built.engine.begin() as connection:
        swap(connection, SECOND, FIRST)
    assert len(built.changes()) == 3
    with built.engine.begin() as connection:
        swap(connection, third, SECOND)
    with built.engine.begin() as connection:
        swap(connection, SECOND, third)

    assert built.changes()[3:] == [("ada", "left", ""), ("ada", "entered", "")]
    assert built.select("SELECT seq FROM us_holder_change ORDER BY 1") == [
        (number,) for number in range(1, 6)
    ]


@pytest.mark.proves("B-06")
def test_a_version_is_built_shown_and_kept_and_none_is_built_under_the_eyes_of_readers(
    built: ReadSide,
) -> None:
    roles = (
        "SELECT version, state FROM projection_version WHERE projection = 'us_holder' ORDER BY 1"
    )
    seen = "SELECT version, previous FROM projection_live WHERE projection = 'us_holder'"
    with built.engine.begin() as connection:
        versions.build(connection, SECOND, "mine")
    assert built.select(roles) == [(1, "live"), (2, "incomplete")]
    with built.engine.begin() as connection:
        assert versions.is_build(connection, SECOND, "mine")
        versions.finish(connection, SECOND)
        swap(connection, SECOND, FIRST)
    assert (built.select(roles), built.select(seen)) == ([(1, "previous"), (2, "live")], [(2, 1)])

    with built.engine.begin() as connection:
        for version in (FIRST, SECOND):
            versions.build(connection, version, "mine")
            assert not versions.is_build(connection, version, "mine")
        swap(connection, FIRST, SECOND)
    assert (built.select(roles), built.select(seen)) == ([(1, "live"), (2, "previous")], [(1, 2)])


def test_what_is_dropped_leaves_nothing_but_the_feed(built: ReadSide) -> None:
    with built.engine.begin() as connection:
        creation.drop(connection, SECOND)
        assert [*versions.every(connection, "us_holder")] == [1]

    assert not [name for name in built.dump() if name.endswith("_v2")]
    assert len(built.changes()) == 3
    live = "SELECT version FROM projection_live WHERE projection = 'us_holder'"
    assert built.select(live) == [(1,)]


class Held(NamedTuple):
    client: str


class HeldWhere(NamedTuple):
    client: str
    exchange: str | None = None


def client_of(row: type[Held | HeldWhere]) -> Projection:
    """Return the projection `client_of_position` with rows of a class."""

    def client_of_position() -> Rows[Any]:
        """Who holds each position."""
        return Rows(row, lambda before, recorded: before or row(client="ada"))

    return compile_projection(declare(of="position")(client_of_position))


@pytest.mark.proves("D-04")
def test_a_projection_whose_rows_gain_a_column_is_stopped_and_readers_keep_what_they_see(
    new_database: NewDatabase, log: EventLog
) -> None:
    url, others = new_database(), [compile_projection(us_holder)]
    before = ReadSide(url, [*others, client_of(Held)])
    log.add("p-1", opened("ada"))
    before.applier("client_of_position").apply(log.batch())
    before.close()

    after = ReadSide(url, [*others, client_of(HeldWhere)])
    stopped = after.applier("client_of_position")
    after.applier("us_holder").apply(log.everything())

    assert re.fullmatch(
        r"projection client_of_position v1 has other columns in this code than "
        r"client_of_position_row_v1 \(missing there: exchange; unknown here: none\): build the "
        "next version, `verdict projection rebuild client_of_position`, and put it in place, "
        "`.*--accept-differences`",
        str(stopped.failure),
    )
    assert after.select("SELECT error FROM projection_stopped") == [(str(stopped.failure),)]
    assert after.select("SELECT * FROM client_of_position") == [("p-1", "ada")]
    assert after.holders() == {"ada": 1}
    after.close()
