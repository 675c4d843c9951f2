"""`verdict state` without an id: every aggregate of a type, now or as of a time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.position import PositionAdjusted, PositionClosed
from tests.cli.conftest import Run, Verdict
from tests.conftest import NewDatabase
from tests.projection.event_log import SECOND, START, opened
from tests.read_models.as_of.world import World, deployment_name
from verdict.local.broker import EmbeddedBroker
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
    monkeypatch.setenv("VERDICT_TOPIC_PREFIX", world.topics.prefix)
    monkeypatch.setenv("VERDICT_BOOTSTRAP_SERVERS", world.options["bootstrap.servers"])
    monkeypatch.setenv("VERDICT_DATABASE_URL", world.read_side.url)

    def ask(*more: object) -> Verdict:
        return run("state", "position", *more)

    return ask


def told(verdict: Verdict) -> list[tuple[object, ...]]:
    assert verdict.exit_code == 0, verdict.stderr
    return [
        (one["aggregate_id"], one["version"], one["life_cycle"], (one["state"] or {}).get("amount"))
        for one in verdict.lines
    ]


@pytest.mark.proves("A-04")
def test_all_aggregates_are_told_as_of_now_or_a_time_and_each_as_when_asked_alone(
    state: Run, world: World
) -> None:
    """A-04."""
    now = state("--json")
    then = {n: state("--json", "--at", iso_time(START + n * SECOND)) for n in (0, 2, 4, 5)}

    assert told(now) == [
        ("Z", 1, "ACTIVE", 1),
        ("p-0", 1, "ACTIVE", 1),
        ("p-1", 3, "ACTIVE", 3),
        ("é", 2, "DELETED", None),
    ]
    assert told(then[0]) == []
    assert told(then[2]) == [("p-1", 2, "ACTIVE", 2)]
    assert told(then[4]) == [
        ("Z", 1, "ACTIVE", 1),
        ("p-1", 2, "ACTIVE", 2),
        ("é", 1, "ACTIVE", 1),
    ]
    assert told(then[5])[-1] == ("é", 2, "DELETED", None)
    world.archive()
    assert now.lines == [state(one["aggregate_id"], "--json").lines[0] for one in now.lines]
    world.drop(before=world.ends(world.topic)[0][1])
    assert state("--json").lines == now.lines, "Kafka need not have what is archived"


def test_for_people_it_is_a_table(state: Run) -> None:
    rows = [line.split()[:3] for line in state().stdout.splitlines()]

    assert rows[0] == ["position", "version", "life_cycle"]
    assert [row for row in rows[2:] if len(row) == 3 and row[1].isdigit()] == [
        ["Z", "1", "ACTIVE"],
        ["p-0", "1", "ACTIVE"],
        ["p-1", "3", "ACTIVE"],
        ["é", "2", "DELETED"],
    ]


def test_a_version_needs_an_id(state: Run) -> None:
    refused = state("--at-version", 2)

    assert refused.exit_code == 2
    assert "--at-version needs an ID" in refused.stderr


def test_an_aggregate_with_a_gap_and_events_that_are_lost_are_named(
    state: Run, world: World
) -> None:
    world.events.add_unseen("p-1", PositionAdjusted(amount=4))
    world.happen("p-1", PositionAdjusted(amount=5))
    world.write()
    broken = state("--json")
    world.drop(before=world.ends(world.topic)[0][1])
    lost = state("--json")

    assert broken.exit_code == lost.exit_code == 1
    assert "position 'p-1': version 5 follows version 3; no state can be told" in broken.stderr
    assert "are archived up to offset" in lost.stderr


@pytest.mark.proves("A-04")
def test_one_is_not_told_when_events_could_be_lost(
    state: Run, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-04."""
    world.happen("a-1", opened("ada"))
    world.write()
    world.archive()
    world.happen("a-1", PositionAdjusted(amount=7))
    world.write()
    end = world.ends(world.topic)[0][1]
    world.drop(before=end)

    lost = [state(name, "--json") for name in ("a-1", "never-0")]  # both are of partition 0
    [then] = state("a-1", "--json", "--at-version", 1).lines
    monkeypatch.setenv("VERDICT_DATABASE_URL", "sqlite:////nowhere/read.db")
    lost.append(state("never-0", "--json"))

    for one in lost:
        assert (one.exit_code, one.stdout) == (1, "")
        assert f"and Kafka has them from {end} only, so some could be missing" in one.stderr
    assert then["state"]["amount"] == 1
