import threading

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from schemas.position import PositionAdjusted, PositionClosed
from tests.kit.databases import ReadSide
from tests.kit.log import TOPIC, EventLog, opened
from tests.postgresql import Server
from verdict.read_side.apply.applier import Applier, database_failed
from verdict.read_side.apply.batch import UnreadableRecord
from verdict.read_side.schema import database
from verdict.read_side.tables.position import ConcurrentProjectionError

pytestmark = pytest.mark.both_databases


def test_a_batch_that_comes_again_changes_nothing(read_side: ReadSide, log: EventLog) -> None:
    applier = read_side.applier("us_holder")
    log.add("p-1", opened("ada"), PositionAdjusted(amount=2))
    batch = log.batch()
    first = applier.apply(batch)
    before = read_side.dump()

    again = applier.apply(batch)
    log.deliveries[0] = log.deliveries[0]._replace(record=UnreadableRecord("known once"))
    after_a_restart = read_side.applier("us_holder").apply(log.everything())

    assert (first.applied, again.applied, after_a_restart.applied) == (2, 0, 0)
    assert read_side.dump() == before


@pytest.mark.proves("A-06")
def test_the_position_moves_with_the_rows(read_side: ReadSide, log: EventLog) -> None:
    log.add("p-1", opened("ada"))
    place = log.place_of("p-1")
    log.pass_over(place)

    read_side.applier("us_holder").apply(log.batch())

    positions = read_side.select(
        "SELECT version, topic, partition, next_offset FROM projection_position "
        "WHERE projection = 'us_holder' AND next_offset > 0"
    )
    assert positions == [(1, TOPIC, place.partition, 2)]


def test_a_position_that_was_set_back_is_distinguished_from_another_runner(
    read_side: ReadSide, log: EventLog
) -> None:
    """As when a database is dropped and created again under a writer."""
    applier = read_side.applier("us_holder")
    log.add("p-1", opened("ada"))
    applier.apply(log.batch())
    with read_side.engine.begin() as connection:
        connection.execute(text("DELETE FROM projection_position_v1"))
    log.add("p-1", PositionClosed())

    with pytest.raises(
        ConcurrentProjectionError, match=r"set back projection us_holder v1: .*database replaced"
    ):
        applier.apply(log.batch())


@pytest.mark.proves("F-10")
def test_a_projection_that_meets_another_runner_once_goes_on_and_twice_is_stopped_alone(
    read_side: ReadSide, log: EventLog
) -> None:
    """G-06: once may have been a commit of its own whose answer was lost."""
    first, second = read_side.applier("us_holder"), read_side.applier("us_holder")
    for client, runner, other in (("ada", first, second), ("bob", second, first)):
        log.add(client, opened(client))
        runner.follow(log.everything())
        other.follow(log.everything())
        assert first.failure is second.failure is None

    log.add("eve", opened("eve"))
    first.follow(log.everything())
    second.follow(log.everything())

    assert read_side.holders() == {"ada": 1, "bob": 1, "eve": 1}
    assert isinstance(second.failure, ConcurrentProjectionError)
    assert first.failure is None

    stopped = "SELECT projection FROM projection_stopped"
    assert read_side.select(stopped) == [("us_holder",)]
    log.add("fay", opened("fay"))
    first.follow(log.everything())
    assert read_side.select(stopped) == []  # as somebody brings it forward


@pytest.mark.proves("A-06", "H-06")
@pytest.mark.parametrize("both_were_read", [True, False])
def test_runners_on_different_partitions_exclude_each_other_too(
    read_side: ReadSide, log: EventLog, both_were_read: bool
) -> None:
    log.add("p-1", opened("ada"))
    log.add("p-2", opened("ada"))
    here, there = log.place_of("p-1"), log.place_of("p-2")
    assert here != there
    starts = {here: 0, there: 0}
    if both_were_read:
        read_side.applier("us_holder").apply(log.batch())
        starts = dict(log.ends)
        log.add("p-1", PositionClosed())
        log.add("p-2", PositionClosed())
    first, second = read_side.applier("us_holder"), read_side.applier("us_holder")
    first.apply(log.between({here: starts[here]}, {here: log.ends[here]}))

    with pytest.raises(ConcurrentProjectionError, match=r"position\.events:\d was at offset \d"):
        second.apply(log.between({there: starts[there]}, {there: log.ends[there]}))

    assert read_side.holders() == {"ada": 1}


@pytest.mark.proves("A-06")
def test_one_of_two_runners_at_the_same_time_goes_on(read_side: ReadSide, log: EventLog) -> None:
    batches = []
    for number in range(50):
        log.add(f"p-{number % 5}", opened(f"client-{number}"), PositionClosed())
        log.add("p-9", PositionAdjusted(amount=number + 1) if number else opened("ada"))
        batches.append(log.batch())
    engines = [read_side.open(), read_side.open()]
    appliers = [read_side.applier("us_holder", engine) for engine in engines]
    lost: list[ConcurrentProjectionError] = []

    def run(applier: Applier) -> None:
        try:
            for batch in batches:
                applier.apply(batch)
        except ConcurrentProjectionError as error:
            lost.append(error)

    threads = [threading.Thread(target=run, args=[applier]) for applier in appliers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for engine in engines:
        engine.dispose()

    assert len(lost) == 1
    assert read_side.holders() == {"ada": 1}
    assert read_side.changes() == [("ada", "entered", "p-9")]


@pytest.mark.proves("F-14")
def test_a_lock_of_somebody_else_s_is_an_error_of_the_database_after_a_while(
    postgresql: Server, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite its driver says so."""
    monkeypatch.setattr(database, "WAIT_FOR_LOCK_S", 1)
    log.add("p-1", opened("ada"))
    with postgresql.database() as url:
        read_side = ReadSide(url)
        applier = read_side.applier("us_holder")
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE projections.us_holder_row_v1 IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(OperationalError, match="lock timeout") as failed:
                applier.apply(log.batch())
        assert database_failed(failed.value)
        assert not applier.is_stopped
        applier.apply(log.everything())
        assert read_side.holders() == {"ada": 1}
        read_side.close()
