"""Projections that are far behind catch up next to the others, on a real Kafka."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, select, text
from sqlalchemy.pool import Pool

from projections.us_holder import us_holder
from schemas.position import PositionAdjusted, PositionTransferred
from tests.kit.databases import ReadSide
from tests.kit.log import opened
from tests.read_side.responses import ACCEPTED
from tests.rebuild.deployment import Deployment, reaches, some_projections
from tests.topics import drop
from verdict.errors import UnreachableError
from verdict.read_side.live.live_projections import LiveProjections
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.database import open_database
from verdict.wire.records import encode

pytestmark = pytest.mark.kafka

MOST = 20  # records in a batch
NEAR = 5 * MOST
SECOND = "projections 2"  # the group that is far behind
PATIENCE_S = 60

Running = Callable[..., LiveProjections]


class Latch:
    """Holds the group that is far behind before one of its transactions."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()
        self._let_through = 5  # it opens the database, and applies something
        event.listen(Pool, "checkout", self._pass)

    def close(self) -> None:
        """Hold nothing any more."""
        self.open.set()
        event.remove(Pool, "checkout", self._pass)

    def _pass(self, *_: object) -> None:
        if threading.current_thread().name != SECOND:
            return
        if self._let_through == 0:
            self.reached.set()
            assert self.open.wait(PATIENCE_S)
        else:
            self._let_through -= 1


@pytest.fixture
def latch(running: Running) -> Iterator[Latch]:
    """Return a closed one, which is open before the read side is stopped."""
    latch = Latch()
    yield latch
    latch.close()


@pytest.fixture
def old(deployment: Deployment, running: Running) -> Deployment:
    """Return a deployment with many events of positions; `us_holder` is to be added to it."""
    openings = [(f"p-{n}", opened(f"client-{n % 7}")) for n in range(MOST)]
    later = [(f"p-{n % MOST}", PositionAdjusted(amount=n)) for n in range(1, 2 * NEAR)]
    moves = [(f"p-{n}", PositionTransferred(client=f"client-{n}")) for n in range(MOST)]
    happened = [deployment.happens(*one) for one in (*openings, *later, *moves)]
    deployment.write(*(record for records in happened for record in records))
    others = running(declared=without_us_holder())
    reaches(others, lambda: deployment.reached("event_archive") == deployment.end())
    others.stop()
    return deployment


def without_us_holder() -> list[Projection]:
    return [p for p in some_projections() if p.name != "us_holder"]


def rows(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    """Return the tables of `us_holder`."""
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
        return rows(at_once.engine)

    yield applied
    at_once.close()


@pytest.mark.proves("H-09")
def test_one_that_is_added_later_comes_to_the_end_and_the_others_do_not_wait_for_it(
    old: Deployment,
    running: Running,
    latch: Latch,
    engine: Engine,
    wanted: Callable[[], object],
) -> None:
    first = running(most=MOST, near=NEAR)
    assert latch.reached.wait(PATIENCE_S)
    held_at = old.reached("us_holder")
    assert 0 < held_at < old.end()

    old.write(*old.happens("p-new", opened("dora"), PositionAdjusted(amount=7)))
    reaches(first, lambda: old.reached("event_archive") == old.end())
    assert old.reached("us_holder") == held_at

    latch.open.set()
    first.stop()  # between two batches; the next start goes on there
    assert held_at <= old.reached("us_holder")
    second = running(most=MOST, near=NEAR)
    reaches(second, lambda: old.reached("us_holder") == old.end())  # though nothing comes
    old.write(*old.happens("p-newer", opened("emil")))
    reaches(second, lambda: old.reached("us_holder") == old.end())
    assert rows(engine) == wanted()
    assert old.select("SELECT * FROM projection_blocked") == []


def test_what_ends_one_group_ends_all(old: Deployment, running: Running, latch: Latch) -> None:
    live = running(most=MOST, near=NEAR)
    assert latch.reached.wait(PATIENCE_S)
    another = open_database(old.url)
    with another.begin() as connection:
        connection.execute(text("ALTER TABLE projection_position_v1 RENAME TO lost"))
    another.dispose()
    latch.open.set()

    with pytest.raises(
        UnreachableError, match="the database of the read side failed: no such table"
    ):
        reaches(live, lambda: False)
    live.stop()
    assert {SECOND, "projections"}.isdisjoint(thread.name for thread in threading.enumerate())


def test_one_that_fails_on_its_way_is_stopped_and_the_others_go_on(
    deployment: Deployment, running: Running
) -> None:
    events = deployment.topics.events("position")
    deployment.write(*[(events, "p-1", b"garbage")] * (2 * MOST))
    live = running(most=MOST)
    stopped = "SELECT projection FROM projection_stopped ORDER BY 1"
    followers = [("client_overview",), ("event_archive",), ("position_state",), ("us_holder",)]

    reaches(live, lambda: deployment.select(stopped) == followers)
    deployment.write((deployment.topics.responses("order"), "order-1", encode(ACCEPTED)))
    reaches(live, lambda: deployment.select("SELECT command_id FROM outcome") == [("c-1",)])


@pytest.mark.proves("H-09")
def test_one_that_needs_what_kafka_has_dropped_is_stopped_and_the_others_go_on(
    deployment: Deployment, running: Running
) -> None:
    responses = deployment.topics.responses("order")
    deployment.write((responses, "order-1", encode(ACCEPTED)))
    place = deployment.log.place_of("order-1").partition
    drop(deployment.servers, responses, {place: 1})
    live = running()
    deployment.write(*deployment.happens("p-1", opened("ada")))

    reaches(live, lambda: deployment.select("SELECT client FROM us_holder") == [("ada",)])
    ((projection, error),) = deployment.select("SELECT projection, error FROM projection_stopped")
    assert projection == "outcome"
    assert "from offset 0 and was given it from 1: Kafka no longer has what is between" in error
