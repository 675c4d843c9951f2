"""Kafka is away for long: the service says so, waits, and goes on by itself."""

import json
from pathlib import Path

import pytest

from tests.kit.faults import outlive
from tests.kit.network import Fault, proxied_broker
from tests.kit.service import Deployment

pytestmark = pytest.mark.timeout(3000)

IMPATIENT = {"default.api.timeout.ms": "2000", "request.timeout.ms": "1500"}  # Spark's clients


@pytest.mark.proves("F-01", "F-03")
@pytest.mark.parametrize(
    ("seconds", "patience"),
    [
        # clients that give up within seconds, as they do in an outage of minutes
        pytest.param(40, IMPATIENT, marks=pytest.mark.thorough),
        # longer than any call of Kafka's clients has patience, Spark's too
        pytest.param(600, {}, marks=pytest.mark.campaign),
    ],
)
def test_a_kafka_that_is_away_for_longer_than_any_client_waits_is_waited_for(
    tmp_path: Path, seconds: float, patience: dict[str, str]
) -> None:
    """G-05."""
    with proxied_broker(tmp_path / "broker") as (broker, network):
        outages = {
            "killed": (broker.kill, broker.start),
            "stopped": (broker.stop, broker.start),
            "silent": (lambda: network.fail(Fault.BLACK_HOLE), network.heal),
        }
        deployment = Deployment(broker.bootstrap_servers, "away", tmp_path / "d")
        deployment.environment |= {
            "VERDICT_BOOTSTRAP_SERVERS": network.address,
            "VERDICT_TRANSACTION_TIMEOUT_S": "5",
            "VERDICT_SPARK_KAFKA": json.dumps(patience),
        }
        with deployment.running() as service:
            for how, outage in outages.items():
                outlive(deployment, service, how, seconds, outage)
                deployment.await_read_side()
        deployment.assert_as_the_model_says()
