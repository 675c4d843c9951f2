"""Kafka is away for a while: the service says so, waits, and goes on by itself."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commands.order import ModifyOrder, PlaceOrder
from tests.e2e.deployment import Deployment
from verdict.client.client import Client
from verdict.local.broker import EmbeddedBroker
from verdict.model.command_envelope import Expectation

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1500), pytest.mark.process]

WAIT_S = 180
SELDOM_S = 0.1
PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
IMPATIENT = {"default.api.timeout.ms": "2000", "request.timeout.ms": "1500"}  # Spark's clients
PATIENT = {"delivery.timeout.ms": "900000"}  # of a sender who outlasts all of this


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker that comes and goes; to the service it is somebody else's."""
    with EmbeddedBroker(tmp_path / "broker") as broker:
        yield broker


@pytest.mark.proves("F-01")
def test_a_kafka_that_is_away_is_waited_for(own: EmbeddedBroker, tmp_path: Path) -> None:
    """G-05: killed, and back after 15 s."""
    deployment = Deployment(own.bootstrap_servers, "killed", tmp_path / "d")
    with deployment.running() as service:
        outlive(own, deployment, service, "killed-1", 15, own.kill)
        deployment.await_read_side()
    deployment.assert_as_the_model_says()


@pytest.mark.proves("F-01")
@pytest.mark.thorough
def test_a_kafka_that_is_away_for_longer_than_any_client_waits_is_waited_for(
    own: EmbeddedBroker, tmp_path: Path
) -> None:
    """G-05: 40 s, and clients that give up within seconds, as they do in an outage of minutes."""
    deployment = Deployment(own.bootstrap_servers, "stopped", tmp_path / "d")
    deployment.environment |= {
        "VERDICT_TRANSACTION_TIMEOUT_S": "5",
        "VERDICT_SPARK_KAFKA": json.dumps(IMPATIENT),
    }
    with deployment.running() as service:
        outlive(own, deployment, service, "stopped-1", 40, own.stop)
        outlive(own, deployment, service, "stopped-2", 40, own.kill)
        deployment.await_read_side()
        said = deployment.said()
    print(said)
    assert "the decider goes on" in said
    deployment.assert_as_the_model_says()


@pytest.mark.proves("F-01")
@pytest.mark.campaign
def test_a_kafka_that_is_away_for_ten_minutes_is_waited_for(
    own: EmbeddedBroker, tmp_path: Path
) -> None:
    """G-05: longer than any call of Kafka's clients has patience, Spark's too."""
    deployment = Deployment(own.bootstrap_servers, "long", tmp_path / "d")
    with deployment.running() as service:
        outlive(own, deployment, service, "long-1", 600, own.kill)
        outlive(own, deployment, service, "long-2", 90, own.stop)
        deployment.await_read_side()
    deployment.assert_as_the_model_says()


def outlive(
    own: EmbeddedBroker,
    deployment: Deployment,
    service: "subprocess.Popen[str]",
    order: str,
    seconds: float,
    leave: Callable[[], None],
) -> None:
    """Let Kafka be away for so long, with commands under way and a sender who waits."""
    with Client(deployment.bootstrap_servers, deployment.topics, PATIENT) as client:
        client.send(order, PLACE, expected_version=0).wait(WAIT_S)
        with deployment.traffic(seed=len(order), pause_s=SELDOM_S):
            leave()
            back = time.monotonic() + seconds
            waiting = client.send(order, ModifyOrder(quantity=5), Expectation.EXISTS)
            await_told(deployment)
            time.sleep(max(0.0, back - time.monotonic()))
            assert service.poll() is None
            own.start()
            assert waiting.wait(WAIT_S).to_version == 2
    deployment.await_quiet()

    assert service.poll() is None
    said = deployment.said()
    assert "Traceback" not in said
    assert f"Kafka at {own.bootstrap_servers} is away since" in said
    assert f"Kafka at {own.bootstrap_servers} is back after" in said


def await_told(deployment: Deployment) -> None:
    """Return when `verdict status` says that Kafka is away; the service notices in seconds."""
    deadline = time.monotonic() + WAIT_S
    while True:
        asked = deployment.cli("status", "--json")
        assert asked.returncode == 5
        problems = " ".join(json.loads(asked.stdout)["problems"])
        if "Kafka is away since" in problems:
            return
        assert time.monotonic() < deadline, problems
