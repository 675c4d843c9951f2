"""Projections that are far behind catch up beside the others, on a real Kafka and a real Spark."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, select, text
from sqlalchemy import event as sql_event

from projections.us_holder import us_holder
from schemas.position import PositionAdjusted, PositionTransferred
from tests.kit.databases import ReadSide
from tests.kit.log import opened
from tests.read_side.responses import ACCEPTED
from tests.rebuild.deployment import Deployment, reaches, some_projections
from tests.topics import drop
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import UnreachableError
from verdict.read_side.live.catch_up import NAME
from verdict.read_side.live.running import NEAR, LiveProjections
from verdict.read_side.live.source import BATCHES
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.database import open_database
from verdict.wire.partitions import TopicPartition
from verdict.wire.records import encode

pytestmark = pytest.mark.spark

MOST = 20  # offsets in a batch; more than `NEAR` batches make somebody lag behind
PART = BATCHES * MOST
PATIENCE_S = 60

Running = Callable[..., LiveProjections]


class Latch:
    """Holds the threads that catch up before they begin a transaction, from a given one on."""

    def __init__(self, engine: Engine) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()
        self._let_through = 0
        sql_event.listen(engine, "checkout", self._pass)

    def hold_after(self, transactions: int) -> None:
        """Let so many transactions through."""
        self._let_through = transactions

    def _pass(self, *_: object) -> None:
        if threading.current_thread().name != NAME:
            return
        if self._let_through == 0:
            self.reached.set()
            assert self.open.wait(PATIENCE_S)
        else:
            self._let_through -= 1


@pytest.fixture
def latch(engine: Engine, running: Running) -> Iterator[Latch]:
    """Return a closed one, which is open before the read side is stopped."""
    latch = Latch(engine)
    yield latch
    latch.open.set()


@pytest.fixture
def old(deployment: Deployment, running: Running) -> Deployment:
    """Return a deployment with many events of positions; `us_holder` is to be added to it."""
    openings = [(f"p-{n}", opened(f"client-{n % 7}")) for n in range(MOST)]
    later = [(f"p-{n % MOST}", PositionAdjusted(amount=n)) for n in range(1, 4 * PART)]
    moves = [(f"p-{n}", PositionTransferred(client=f"client-{n}")) for n in range(MOST)]
    happened = [deployment.happens(*one) for one in (*openings, *later, *moves)]
    deployment.write(*(record for records in happened for record in records))
    others = running(declared=without_us_holder())
    reaches(others, lambda: reached(deployment, "event_archive") == end(deployment))
    others.stop()
    deployment.source["maxOffsetsPerTrigger"] = str(MOST)
    return deployment


def without_us_holder() -> list[Projection]:
    return [p for p in some_projections() if p.name != "us_holder"]


def reached(deployment: Deployment, name: str) -> int:
    """Return how many offsets of events of positions a projection has behind it."""
    statement = f"""SELECT sum(next_offset) FROM projection_position
        WHERE projection = '{name}' AND topic LIKE '%position.events'"""
    ((offset,),) = deployment.select(statement)
    return int(offset or 0)


def end(deployment: Deployment) -> int:
    """Return how many offsets there are."""
    topic = deployment.topics.events("position")
    places = [TopicPartition(topic, number) for number in range(deployment.topics.partitions)]
    with KafkaLog({"bootstrap.servers": deployment.servers}) as log:
        kept = log.bounds(places)
    return sum(span.end for span in kept.values())


def rows(read_side: ReadSide | Engine) -> dict[str, list[tuple[Any, ...]]]:
    """Return the tables of `us_holder`."""
    engine = read_side.engine if isinstance(read_side, ReadSide) else read_side
    with engine.connect() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))))
            for table in compile_projection(us_holder).tables
        }


@pytest.fixture
def wanted(tmp_path: Path, old: Deployment) -> Iterator[Callable[[], object]]:
    """Return what gives the rows of all that happened, as one batch makes them."""
    at_once = ReadSide(f"sqlite:///{tmp_path / 'at-once.db'}")

    def applied() -> object:
        at_once.clear()
        at_once.applier("us_holder").apply(old.log.everything())
        return rows(at_once)

    yield applied
    at_once.close()


def nobody_catches_up() -> bool:
    return NAME not in {thread.name for thread in threading.enumerate()}


@pytest.mark.proves("H-09")
@pytest.mark.long
def test_one_that_is_added_later_comes_to_the_end_and_the_others_do_not_wait_for_it(
    old: Deployment,
    running: Running,
    latch: Latch,
    engine: Engine,
    wanted: Callable[[], object],
    spark: SparkSession,
) -> None:
    latch.hold_after(2)
    projecting = running()
    assert latch.reached.wait(PATIENCE_S)
    held_at = reached(old, "us_holder")
    assert 0 < held_at < end(old) - PART

    old.write(*old.happens("p-new", opened("dora"), PositionAdjusted(amount=7)))
    reaches(projecting, lambda: reached(old, "event_archive") == end(old))
    assert reached(old, "us_holder") == held_at

    latch.open.set()
    reaches(projecting, lambda: reached(old, "us_holder") == end(old))  # though nothing comes
    jvm = spark.sparkContext._jsc.sc()
    assert jvm.getPoolForName(NAME).isDefined()  # so that nobody else waits for all of a part
    old.write(*old.happens("p-newer", opened("emil")))
    reaches(projecting, lambda: nobody_catches_up() and reached(old, "us_holder") == end(old))
    assert rows(engine) == wanted()
    assert old.select("SELECT * FROM projection_blocked") == []


@pytest.mark.long
@pytest.mark.proves("H-09")
def test_a_stop_is_heeded_between_two_parts_and_the_next_start_goes_on_there(
    old: Deployment,
    running: Running,
    latch: Latch,
    engine: Engine,
    wanted: Callable[[], object],
    spark: SparkSession,
) -> None:
    latch.hold_after(2)
    first = running()
    assert latch.reached.wait(PATIENCE_S)
    held_at = reached(old, "us_holder")
    with ThreadPoolExecutor(1) as beside:
        stopping = beside.submit(first.stop)
        while spark.streams.active:
            assert not stopping.done()
        latch.open.set()
        stopping.result(PATIENCE_S)
    assert nobody_catches_up()
    assert held_at < reached(old, "us_holder") <= held_at + PART

    second = running()
    reaches(second, lambda: reached(old, "us_holder") == end(old))
    assert rows(engine) == wanted()


@pytest.mark.proves("H-09")
@pytest.mark.long
def test_it_joins_while_records_never_stop_coming(
    old: Deployment, running: Running, latch: Latch, engine: Engine, wanted: Callable[[], object]
) -> None:
    joined = threading.Event()
    projecting = running()

    def never_stop() -> None:
        numbers = count()
        while not joined.is_set():
            name = f"p-more-{next(numbers)}"
            old.write(*old.happens(name, opened("dora"), PositionAdjusted(amount=7)))
            latch.open.set()

    with ThreadPoolExecutor(1) as beside:
        writing = beside.submit(never_stop)
        try:
            reaches(projecting, nobody_catches_up)
        finally:
            joined.set()
        writing.result(PATIENCE_S)
    reaches(projecting, lambda: reached(old, "us_holder") == end(old))
    assert rows(engine) == wanted()


@pytest.mark.long
def test_what_ends_the_catching_up_ends_all_and_is_told(
    old: Deployment, running: Running, latch: Latch, spark: SparkSession
) -> None:
    projecting = running()
    assert latch.reached.wait(PATIENCE_S)
    another = open_database(old.url)
    with another.begin() as connection:
        connection.execute(text("ALTER TABLE projection_position_v1 RENAME TO lost"))
    another.dispose()
    latch.open.set()

    with pytest.raises(
        UnreachableError, match="the database of the read side failed: no such table"
    ):
        reaches(projecting, lambda: False)  # which it says once the live query has ended, too
    projecting.stop()
    assert spark.streams.active == []


def test_one_that_fails_on_its_way_is_stopped_and_the_others_go_on(
    deployment: Deployment, running: Running
) -> None:
    deployment.source["maxOffsetsPerTrigger"] = str(MOST)
    events = deployment.topics.events("position")
    garbage = [(events, "p-1", b"garbage")] * (2 * NEAR * MOST)
    deployment.write(*garbage)
    projecting = running()
    stopped = "SELECT projection FROM projection_stopped ORDER BY 1"
    followers = [("client_overview",), ("event_archive",), ("position_state",), ("us_holder",)]

    reaches(projecting, lambda: deployment.select(stopped) == followers and nobody_catches_up())
    deployment.write((deployment.topics.responses("order"), "order-1", encode(ACCEPTED)))
    reaches(projecting, lambda: deployment.select("SELECT command_id FROM outcome") == [("c-1",)])


@pytest.mark.proves("H-09")
def test_one_that_needs_what_kafka_has_dropped_is_stopped_and_the_others_go_on(
    deployment: Deployment, running: Running
) -> None:
    responses = deployment.topics.responses("order")
    deployment.write((responses, "order-1", encode(ACCEPTED)))
    place = deployment.log.place_of("order-1").partition
    drop(deployment.servers, responses, {place: 1})
    projecting = running()
    deployment.write(*deployment.happens("p-1", opened("ada")))

    reaches(projecting, lambda: deployment.select("SELECT client FROM us_holder") == [("ada",)])
    ((projection, error),) = deployment.select("SELECT projection, error FROM projection_stopped")
    assert projection == "outcome"
    assert "from offset 0 and was given it from 1: Kafka no longer has what is between" in error
