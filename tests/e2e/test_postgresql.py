"""`verdict up` whose tables are on PostgreSQL, and what people ask of them."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.e2e.deployment import Deployment
from tests.postgresql import LET_GO, Server
from verdict.adapters.local.broker import EmbeddedBroker

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.process,
]

PATIENCE_S = 120
OPEN = (
    "send position OpenPosition --id p-1 --expected-version 0 --wait 60 --field client=ada "
    "--field ticker=AAPL --field exchange=NASDAQ --field amount=3"
)


@pytest.fixture
def deployment(broker: EmbeddedBroker, database: str, tmp_path: Path) -> Iterator[Deployment]:
    """A deployment whose service runs."""
    deployment = Deployment(broker.bootstrap_servers, "on-postgresql", tmp_path / "d")
    deployment.environment["VERDICT_DATABASE_URL"] = database
    with deployment.running():
        yield deployment


@pytest.fixture
def database(postgresql: Server) -> Iterator[str]:
    with postgresql.database() as url:
        yield url


@pytest.mark.proves("A-06")
def test_people_read_postgresql_as_they_read_sqlite(
    deployment: Deployment, database: str, postgresql: Server
) -> None:
    assert deployment.cli(*OPEN.split()).returncode == 0
    assert deployment.cli(*OPEN.split()).returncode == 3
    shows(deployment, "SELECT client, positions FROM us_holder", [["ada", 1]])
    shows(deployment, "SELECT status FROM outcome ORDER BY 1", [["ACCEPTED"], ["REJECTED"]])
    refused = deployment.cli("sql", "SELECT * FROM projections.us_holder_v1")
    assert refused.returncode == 1
    assert "this statement wants schema projections" in refused.stderr
    status = deployment.cli("status")
    assert status.returncode == 0
    assert "follows" in status.stdout

    postgresql.execute(LET_GO, make_url(database).database or "")
    with deployment.traffic(seed=1):
        eventually(lambda: "component projections runs again" in deployment.said())
    deployment.await_quiet()
    deployment.await_read_side()

    assert "component projections stopped, trying again every 5 s" in deployment.said()
    deployment.assert_as_the_model_says()
    responses = [one for one in deployment.published() if one.topic.endswith(".responses")]
    assert deployment.sql("SELECT count(*) FROM outcome") == [[len(responses)]]


def shows(deployment: Deployment, query: str, rows: list[list[object]]) -> None:
    eventually(lambda: deployment.sql(query) == rows)


def eventually(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not seen():
        assert time.monotonic() < deadline, f"not seen in {PATIENCE_S} s"
        time.sleep(0.5)
