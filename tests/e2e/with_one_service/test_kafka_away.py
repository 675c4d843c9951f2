"""Kafka is away for a while: the service says so, waits, and goes on by itself."""

import subprocess

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.outage import outlive
from verdict.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.process]


@pytest.mark.proves("F-01")
def test_a_kafka_that_is_away_is_waited_for(
    service: "subprocess.Popen[str]", deployment: Deployment, own: EmbeddedBroker
) -> None:
    """G-05: killed, and back when all have noticed."""
    outlive(own, deployment, service, "killed", 0, own.kill)
    deployment.await_read_side()
    deployment.assert_as_the_model_says()
