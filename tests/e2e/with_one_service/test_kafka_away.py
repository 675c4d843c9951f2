"""Kafka is away for a while: the service says so, waits, and goes on by itself."""

import pytest

from tests.kit.faults import outlive
from tests.kit.service import Deployment, Process
from verdict.adapters.local.broker import EmbeddedBroker

pytestmark = pytest.mark.timeout(900)


@pytest.mark.proves("F-01")
def test_a_kafka_that_is_killed_is_waited_for(
    service: Process, deployment: Deployment, own: EmbeddedBroker
) -> None:
    """G-05: it is back when all have noticed."""
    outlive(deployment, service, "kill-1", 0, (own.kill, own.start))
    deployment.await_read_side()
    deployment.assert_as_the_model_says()
