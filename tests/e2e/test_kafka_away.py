"""Kafka is away for long: the service says so, waits, and goes on by itself."""

import json
from pathlib import Path

import pytest

from tests.kit.faults import outlive
from tests.kit.network import Fault, proxied_broker
from tests.kit.service import Deployment
from verdict.adapters.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(3000), pytest.mark.process]

IMPATIENT = {"default.api.timeout.ms": "2000", "request.timeout.ms": "1500"}  # Spark's clients


@pytest.mark.proves("F-01")
@pytest.mark.thorough
def test_a_kafka_that_is_away_for_longer_than_any_client_waits_is_waited_for(
    tmp_path: Path,
) -> None:
    """G-05: 40 s, and clients that give up within seconds, as they do in an outage of minutes."""
    with EmbeddedBroker(tmp_path / "broker") as own:
        deployment = Deployment(own.bootstrap_servers, "stopped", tmp_path / "d")
        deployment.environment |= {
            "VERDICT_TRANSACTION_TIMEOUT_S": "5",
            "VERDICT_SPARK_KAFKA": json.dumps(IMPATIENT),
        }
        with deployment.running() as service:
            outlive(deployment, service, "stopped-1", 40, (own.stop, own.start))
            outlive(deployment, service, "stopped-2", 40, (own.kill, own.start))
            deployment.await_read_side()
            assert "component decider runs again" in deployment.said()
        deployment.assert_as_the_model_says()


@pytest.mark.proves("F-01")
@pytest.mark.campaign
def test_a_kafka_that_is_away_for_ten_minutes_is_waited_for(tmp_path: Path) -> None:
    """G-05: longer than any call of Kafka's clients has patience, Spark's too."""
    with proxied_broker(tmp_path / "broker") as (broker, network):
        outages = {
            "killed": (broker.kill, broker.start),
            "stopped": (broker.stop, broker.start),
            "silent": (lambda: network.fail(Fault.BLACK_HOLE), network.heal),
        }
        deployment = Deployment(broker.bootstrap_servers, "away", tmp_path / "d")
        deployment.environment["VERDICT_BOOTSTRAP_SERVERS"] = network.address
        with deployment.running() as service:
            for how, outage in outages.items():
                outlive(deployment, service, how, 600, outage)
                deployment.await_read_side()
        deployment.assert_as_the_model_says()
