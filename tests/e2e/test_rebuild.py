"""A projection is built again, compared and put in place, and neither service nor readers wait."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from commands.position import OpenPosition
from projections.us_exchanges import US_EXCHANGES
from tests.application import APPLICATION, decode_event
from tests.kit.doomed import BUG
from tests.kit.faults import await_said
from tests.kit.service import ROOT, WAIT_S, Deployment
from tests.model.rules import state_after
from tests.postgresql import LET_GO, Server
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.adapters.sql.readers.reader import Reader
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import readable

pytestmark = pytest.mark.timeout(900)

READS = 1000
STEADY = "steady"


@contextmanager
def reading(deployment: Deployment) -> Iterator[list[int]]:
    """Ask, as fast as possible, whether a client who holds all the time is a holder."""
    asked = f"SELECT count(*) FROM us_holder WHERE client = '{STEADY}'"
    answers, ended = list[int](), threading.Event()

    def read() -> None:
        with Reader(deployment.database_url, readable(projections(APPLICATION))) as reader:
            while not ended.is_set():
                answers.extend(number for (number,) in reader.select(asked).rows)

    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(read)
        try:
            yield answers
        finally:
            ended.set()
        done.result()


@pytest.mark.proves("H-09", "B-06")
@pytest.mark.thorough
@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.campaign)]
)
def test_a_projection_is_built_again_and_put_in_place_under_traffic_and_kills(
    broker: EmbeddedBroker, tmp_path: Path, request: pytest.FixtureRequest, database: str
) -> None:
    """B-06, H-04, H-09: whatever is killed, readers see one right version or the other."""
    if database == "sqlite":
        deployment = Deployment(broker.bootstrap_servers, "rebuild", tmp_path / "d")
        with deployment.running():
            rebuild(deployment)
        return
    server: Server = request.getfixturevalue("postgresql")
    with server.database() as url:
        deployment = Deployment(broker.bootstrap_servers, "rebuild-pg", tmp_path / "d", url)
        with deployment.running():
            rebuild(deployment)
            lose_connections(deployment, server)


def rebuild(deployment: Deployment) -> None:
    """Build, compare and swap through everything that may happen."""
    with deployment.traffic(seed=5, pause_s=0.05):
        hold_steadily(deployment)
        refuse_a_torso(deployment)
        refuse_a_bug(deployment)
        succeed(deployment, "rebuild")
        with reading(deployment) as answers:
            swap_through_kills(deployment)
        assert answers.count(1) == len(answers) >= READS
    deployment.await_quiet()
    deployment.await_read_side()
    succeed(deployment, "rebuild", "verify")
    holders = {client for (client,) in deployment.sql("select client from us_holder")}
    assert holders == oracle(deployment)
    assert entered(deployment) == holders


def lose_connections(deployment: Deployment, server: Server) -> None:
    """Let PostgreSQL end all connections: the read side goes on; and see what readers may ask."""
    refused = deployment.cli("sql", "SELECT * FROM projections.us_holder_v1")
    assert refused.returncode == 1
    assert "this statement wants schema projections" in refused.stderr

    server.execute(LET_GO, make_url(deployment.database_url).database or "")
    with deployment.traffic(seed=1):
        await_said(deployment, "component projections runs again")
    deployment.await_quiet()
    deployment.await_read_side()

    assert "component projections stopped, trying again every 5 s" in deployment.said()
    deployment.assert_as_the_model_says()
    responses = [one for one in deployment.published() if one.topic.endswith(".responses")]
    assert deployment.sql("SELECT count(*) FROM outcome") == [[len(responses)]]


def refuse_a_torso(deployment: Deployment) -> None:
    """Kill a rebuild: what it leaves is not put in place, and the next one begins again."""
    for step in ("begun", "written"):
        assert unlucky(deployment, "rebuild", step).returncode == -9
        assert versions(deployment) == {1: "live", 2: "incomplete"}
    assert unlucky(deployment, "rebuild", "built").returncode == -9
    assert versions(deployment) == {1: "live", 2: "candidate"}  # it was whole by then


def refuse_a_bug(deployment: Deployment) -> None:
    """Rebuild with a planted bug: the rows are named and readers see what they saw."""
    assert unlucky(deployment, "rebuild", BUG).returncode == 0
    refused = unlucky(deployment, "promote", BUG)
    assert refused.returncode == 1
    assert "the versions of us_holder differ in" in refused.stderr
    assert versions(deployment) == {1: "live", 2: "candidate"}


def swap_through_kills(deployment: Deployment) -> None:
    former, swapped = {1: "live", 2: "candidate"}, {1: "previous", 2: "live"}
    for verb, after in (("promote", swapped), ("rollback", {1: "live", 2: "previous"})):
        for step in ("level", "switched"):
            assert unlucky(deployment, verb, step).returncode == -9
            assert versions(deployment) == former
        assert unlucky(deployment, verb, "swapped").returncode == -9
        assert versions(deployment) == after
        former = after
    succeed(deployment, "verify")
    succeed(deployment, "promote")
    assert versions(deployment) == swapped


def hold_steadily(deployment: Deployment) -> None:
    """Let a client hold a position until the end, and see it in the view."""
    opened = OpenPosition(client=STEADY, ticker="AAPL", exchange="NASDAQ", amount=1)
    with deployment.client() as sender:
        sender.send(STEADY, opened, expected_version=0).wait(WAIT_S)
    deployment.reaches(f"select 1 from us_holder where client = '{STEADY}'", [1])


def unlucky(
    deployment: Deployment, verb: str, misfortune: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.kit.doomed", "projection", verb, "us_holder", misfortune],
        cwd=ROOT,
        env=deployment.environment,
        capture_output=True,
        text=True,
        timeout=400,
    )


def succeed(deployment: Deployment, *verbs: str) -> None:
    for verb in verbs:
        done = deployment.cli("projection", verb, "us_holder")
        assert done.returncode == 0, done.stderr


def versions(deployment: Deployment) -> dict[int, str]:
    """Return the role of each version of us_holder."""
    listed = deployment.cli("projection", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    found: list[dict[str, Any]] = [*map(json.loads, listed.stdout.splitlines())]
    return {one["version"]: one["state"] for one in found if one["projection"] == "us_holder"}


def oracle(deployment: Deployment) -> set[str]:
    """H-07: the distinct clients of the open positions on a US exchange, folded from the events."""
    topic, open_positions = deployment.topics.events("position"), dict[str, Any]()
    for one in deployment.published():
        if one.topic == topic:
            event = decode_event("position", one.value)
            kind, fields = type(event.payload).__name__, event.payload.model_dump(mode="json")
            before = open_positions.get(event.aggregate_id)
            open_positions[event.aggregate_id] = state_after(before, kind, fields)
    return {
        state["client"]
        for state in open_positions.values()
        if state is not None and state["exchange"] in US_EXCHANGES
    }


def entered(deployment: Deployment) -> set[str]:
    """H-08: who is in when the feed is replayed."""
    shown: set[str] = set()
    for client, kind in deployment.sql("select client, kind from us_holder_change order by seq"):
        (shown.add if kind == "entered" else shown.remove)(client)
    return shown
