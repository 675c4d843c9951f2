"""A group of projections in a process of its own, on a real Kafka."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import psutil
import pytest
from sqlalchemy import text

from schemas.position import PositionAdjusted, PositionClosed, PositionTransferred
from tests.application import APPLICATION
from tests.kit.databases import ReadSide
from tests.kit.deployment import await_true, name_of
from tests.kit.log import opened
from tests.rebuild.deployment import Deployment
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.read_side.catalog import projections
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.service.runner_process import RunnerEndedError, RunnerProcess
from verdict.settings.load import settings_alone
from verdict.streaming.queries.batches_under_way import longer_than

pytestmark = pytest.mark.kafka

NAME = "projections"
Record = tuple[str, str, bytes]
COUNT = "SELECT count(*) FROM us_holder"
SERVICE = """
import json, sys, time
from schemas.position import PositionAdjusted, PositionClosed, PositionTransferred
from tests.application import APPLICATION
from tests.kit.databases import ReadSide
from verdict.service.runner_process import RunnerProcess
from verdict.settings.load import settings_alone
chosen, kafka = json.loads(sys.argv[1])
settings = settings_alone(APPLICATION, **chosen)
runner = RunnerProcess(settings, kafka, "projections", ["us_holder"])
runner.start()
while not runner.done:
    runner.check()
print(runner._process.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return where the read side is."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'read.db'}"
    else:
        with request.getfixturevalue("postgresql").database() as url:
            yield url


@pytest.fixture
def deployment(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path, url: str
) -> Deployment:
    """Return topics of this test alone, and empty tables."""
    deployment = Deployment(broker.bootstrap_servers, f"{name_of(request)}.", tmp_path, url)
    engine = open_database(url)
    create_read_side(engine, projections(APPLICATION))
    engine.dispose()
    return deployment


def chosen(deployment: Deployment) -> dict[str, str | int]:
    return {
        "data_dir": str(deployment.directory),
        "database_url": deployment.url,
        "topic_prefix": deployment.topics.prefix,
        "partitions": 2,
        "projection_trigger_ms": 0,
    }


@pytest.fixture
def runner(deployment: Deployment) -> Iterator[RunnerProcess]:
    """Return one that runs."""
    settings = settings_alone(APPLICATION, **chosen(deployment))
    runner = RunnerProcess(settings, deployment.kafka.settings, NAME, ["us_holder"])
    runner.start()
    yield runner
    runner.stop()


def pid_of(runner: RunnerProcess) -> int:
    assert runner._process is not None
    return runner._process.pid


@pytest.mark.proves("F-10")
def test_one_that_was_killed_is_reported_and_the_next_one_continues(
    runner: RunnerProcess, deployment: Deployment
) -> None:
    deployment.write(*deployment.happens("p-1", opened("ada")))
    await_true(lambda: deployment.select(COUNT) == [(1,)], runner.check)
    os.kill(pid_of(runner), signal.SIGKILL)

    with pytest.raises(RunnerEndedError, match=r"of us_holder ended with .* SIGKILL"):
        await_true(lambda: False, runner.check)

    runner.stop()
    deployment.write(*deployment.happens("p-2", opened("bob")))
    runner.start()
    await_true(lambda: deployment.select(COUNT) == [(2,)], runner.check)


def test_what_ends_it_reaches_the_service(runner: RunnerProcess, deployment: Deployment) -> None:
    await_true(lambda: runner.done > 0, runner.check)
    engine = open_database(deployment.url)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE projection_position_v1 RENAME TO lost"))
    engine.dispose()
    deployment.write(*deployment.happens("p-1", opened("ada")))

    with pytest.raises(Exception, match="database of the read side failed: no such table") as told:
        await_true(lambda: False, runner.check)
    assert type(told.value).__name__ == "UnreachableError"


def test_signals_of_a_terminal_are_for_the_service(runner: RunnerProcess) -> None:
    await_true(lambda: runner.done > 0, runner.check)
    done = runner.done
    for one in (signal.SIGINT, signal.SIGTERM):
        os.kill(pid_of(runner), one)

    await_true(lambda: runner.done > done + 1, runner.check)


def test_a_process_that_hangs_has_a_batch_under_way(runner: RunnerProcess) -> None:
    await_true(lambda: runner.done > 0, runner.check)
    os.kill(pid_of(runner), signal.SIGSTOP)
    await_true(lambda: NAME in longer_than(1.5), runner.check)
    assert longer_than(1.5)[NAME].batch_id == runner.done

    os.kill(pid_of(runner), signal.SIGCONT)
    await_true(lambda: NAME not in longer_than(1.5), runner.check)


def test_it_ends_with_a_service_that_is_killed(deployment: Deployment) -> None:
    task = json.dumps([chosen(deployment), dict(deployment.kafka.settings)])
    command = [sys.executable, "-c", SERVICE, task]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as service:
        assert service.stdout is not None
        process = psutil.Process(int(service.stdout.readline()))
        service.kill()

        await_true(lambda: not process.is_running())


GROUPS = (["us_holder", "client_overview"], ["event_archive", "position_state"])
EVENTS, EVENTS_A_KILL = 2_400, 300


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.proves("A-06")
def test_after_any_kill_the_tables_hold_what_happened_once(
    deployment: Deployment, tmp_path: Path
) -> None:
    """The oracle applies everything at once, in memory of its own; the kills are random."""
    random = Random(1)
    settings = settings_alone(APPLICATION, **chosen(deployment), max_rows_per_batch=50)
    runners = [RunnerProcess(settings, deployment.kafka.settings, NAME, of) for of in GROUPS]
    for runner in runners:
        runner.start()
    for number in range(0, EVENTS, EVENTS_A_KILL):
        deployment.write(*some_events(deployment, random, number))
        victim = random.choice(runners)
        await_true(partial(works, victim), victim.check)
        time.sleep(random.uniform(0, 0.3))
        os.kill(pid_of(victim), signal.SIGKILL)
        victim.stop()
        victim.start()
    for name in [name for of in GROUPS for name in of]:
        await_true(partial(at_end, deployment, name), partial(check_all, runners))
    for runner in runners:
        runner.stop()

    oracle = ReadSide(f"sqlite:///{tmp_path / 'oracle.db'}")
    for name in [name for of in GROUPS for name in of]:
        oracle.applier(name).apply(deployment.log.everything())
    for statement in (
        "SELECT * FROM us_holder ORDER BY client",
        "SELECT client, open_positions, us_holder FROM client_overview ORDER BY client",
        "SELECT id, version, client, exchange, amount, decided_at FROM position_state ORDER BY id",
        "SELECT aggregate_id, version, hash FROM event_archive ORDER BY 1, 2",
        "SELECT global_position FROM event_archive ORDER BY 1",
    ):
        assert deployment.select(statement) == oracle.select(statement), statement
    entered = """SELECT client FROM us_holder_change GROUP BY client
        HAVING sum(CASE kind WHEN 'entered' THEN 1 ELSE -1 END) = 1 ORDER BY client"""
    holders = "SELECT client FROM us_holder ORDER BY client"
    assert deployment.select(entered) == deployment.select(holders)
    seqs = deployment.select("SELECT seq FROM us_holder_change ORDER BY seq")
    assert seqs == [(number,) for number in range(1, len(seqs) + 1)]
    oracle.close()


def works(runner: RunnerProcess) -> bool:
    return runner.done > 0


def check_all(runners: list[RunnerProcess]) -> None:
    for runner in runners:
        runner.check()


def at_end(deployment: Deployment, name: str) -> bool:
    return deployment.reached(name) == deployment.end()


def some_events(deployment: Deployment, random: Random, first: int) -> list[Record]:
    """Return some events of positions that open, move between clients, and close."""
    records: list[Record] = []
    for number in range(first, first + EVENTS_A_KILL // 3):
        position, client = f"p-{number}", f"client-{random.randrange(20)}"
        records += deployment.happens(position, opened(client))
        records += deployment.happens(position, PositionAdjusted(amount=number + 1))
        last = PositionTransferred(client=f"client-{random.randrange(20)}")
        records += deployment.happens(position, random.choice([last, PositionClosed()]))
    return records
