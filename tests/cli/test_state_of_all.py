"""`verdict state` of all aggregates as of a time, and of one whose events could be lost."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from schemas.position import PositionAdjusted, PositionClosed
from tests.as_of.world import World, deployment_name
from tests.cli.conftest import Run
from tests.conftest import NewDatabase
from tests.kit.log import SECOND, START, opened
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.message import iso_time

pytestmark = pytest.mark.kafka


@pytest.fixture
def world(
    broker: EmbeddedBroker,
    new_database: NewDatabase,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Iterator[World]:
    """Return positions of which some events are archived, and some are on Kafka only."""
    name = deployment_name(request.node.name)
    world = World(broker, name, new_database(), tmp_path / "data")
    world.happen("p-1", opened("ada"), PositionAdjusted(amount=2))
    world.happen("é", opened("bob"))
    world.happen("Z", opened("cleo"))
    world.write()
    world.archive()
    world.happen("é", PositionClosed())  # at second 5
    world.happen("p-0", opened("dora"))
    world.happen("p-1", PositionAdjusted(amount=3))
    world.write()
    yield world
    world.close()


@pytest.fixture
def state(run: Run, world: World, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what asks for the state of positions in that world."""
    servers = world.options["bootstrap.servers"]
    monkeypatch.setenv("VERDICT_TOPIC_PREFIX", world.topics.prefix)
    where = ("--bootstrap-servers", servers, "--database-url", world.read_side.url)
    return partial(run, "state", "position", *where)


@pytest.mark.proves("A-04")
def test_all_aggregates_are_shown_as_of_a_time(state: Run, world: World) -> None:
    world.decide()
    told = {n: state("--at", iso_time(START + n * SECOND)).lines for n in (0, 4, 5)}

    assert all(progress["count"] == len(rows) for *rows, progress in told.values())
    assert {
        n: [(one["id"], one["version"], one["amount"]) for one in rows]
        for n, (*rows, _) in told.items()
    } == {
        0: [],
        4: [("Z", 1, 1), ("p-1", 2, 2), ("é", 1, 1)],
        5: [("Z", 1, 1), ("p-1", 2, 2), ("é", 2, None)],
    }


@pytest.mark.proves("A-04")
def test_one_is_not_shown_when_events_could_be_lost(state: Run, world: World) -> None:
    world.happen("a-1", opened("ada"))
    world.write()
    world.archive()
    world.happen("a-1", PositionAdjusted(amount=7))
    world.write()
    end = world.ends(world.topic)[0][1]
    world.drop(before=end)

    lost = [state(name, "--json") for name in ("a-1", "never-0")]  # both are of partition 0
    [then] = state("a-1", "--json", "--at-version", 1).lines
    lost.append(state("never-0", "--json", "--database-url", "sqlite:////nowhere/read.db"))

    for one in lost:
        assert (one.exit_code, one.stdout) == (1, "")
        assert f"and Kafka has them from {end} only, so some could be missing" in one.stderr
    assert then["state"]["amount"] == 1
