"""Kafka is away for long: the service says so, waits, and goes on by itself."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.outage import outlive
from tests.exactly_once.proxy import Fault, proxied_broker
from verdict.adapters.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1500), pytest.mark.process]

IMPATIENT = {"default.api.timeout.ms": "2000", "request.timeout.ms": "1500"}  # Spark's clients


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker that comes and goes; to the service it is somebody else's."""
    with EmbeddedBroker(tmp_path / "broker") as broker:
        yield broker


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
        outlive(deployment, service, "stopped-1", 40, own.stop, own.start)
        outlive(deployment, service, "stopped-2", 40, own.kill, own.start)
        deployment.await_read_side()
        said = deployment.said()
    print(said)
    assert "component decider runs again" in said
    deployment.assert_as_the_model_says()


@pytest.mark.proves("F-01")
@pytest.mark.campaign
@pytest.mark.parametrize("how", ["killed", "stopped", "silent"])
def test_a_kafka_that_is_away_for_ten_minutes_is_waited_for(how: str, tmp_path: Path) -> None:
    """G-05: longer than any call of Kafka's clients has patience, Spark's too."""
    with proxied_broker(tmp_path / "broker") as (broker, network):
        leaving: dict[str, Callable[[], None]] = {
            "killed": broker.kill,
            "stopped": broker.stop,
            "silent": partial(network.fail, Fault.BLACK_HOLE),
        }
        come_back = network.heal if how == "silent" else broker.start
        deployment = Deployment(broker.bootstrap_servers, how, tmp_path / "d")
        deployment.environment["VERDICT_BOOTSTRAP_SERVERS"] = network.address
        with deployment.running() as service:
            outlive(deployment, service, "long", 600, leaving[how], come_back)
            deployment.await_read_side()
            print(deployment.said())
        deployment.assert_as_the_model_says()
