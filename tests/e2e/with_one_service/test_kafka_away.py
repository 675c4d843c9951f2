"""Kafka is away for a while: the service says so, waits, and goes on by itself."""

import subprocess

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.outage import outlive
from verdict.adapters.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.process]


@pytest.mark.proves("F-01")
@pytest.mark.parametrize(
    ("how", "seconds"), [("kill", 0), pytest.param("stop", 15, marks=pytest.mark.thorough)]
)
def test_a_kafka_that_is_away_is_waited_for(
    service: "subprocess.Popen[str]",
    deployment: Deployment,
    own: EmbeddedBroker,
    how: str,
    seconds: float,
) -> None:
    """G-05: killed, and back when all have noticed; and stopped cleanly."""
    outlive(deployment, service, f"{how}-1", seconds, getattr(own, how), own.start)
    deployment.await_read_side()
    deployment.assert_as_the_model_says()
