"""A Kafka of three brokers, of which one at a time goes: only the log tells."""

from pathlib import Path

import pytest

from tests.application import APPLICATION
from tests.e2e.three_brokers import three_brokers
from tests.kit.faults import PATIENT
from tests.kit.service import PLACE, SELDOM_S, WAIT_S, Deployment
from verdict.client.client import Client

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1500), pytest.mark.process]


@pytest.mark.proves("F-01")
@pytest.mark.thorough
def test_one_broker_after_the_other_is_killed_and_comes_back(tmp_path: Path) -> None:
    """U-01: leaders, the transactions' coordinator and what copies a record move meanwhile."""
    with three_brokers(tmp_path / "kafka") as kafka:
        deployment = Deployment(kafka.bootstrap_servers, "three", tmp_path / "d")
        client = Client(APPLICATION, kafka.bootstrap_servers, deployment.topics, PATIENT)
        with client, deployment.running() as service:
            with deployment.traffic(7, pause_s=2 * SELDOM_S):
                for number, broker in enumerate(kafka.brokers):
                    leave = broker.stop if number == 0 else broker.kill  # 0 is the one controller
                    leave()
                    sent = client.send(f"while-{number}-is-away", PLACE, expected_version=0)
                    assert sent.wait(WAIT_S).to_version == 1
                    broker.start()
                    kafka.await_in_sync()
                    sent = client.send(f"after-{number}", PLACE, expected_version=0)
                    assert sent.wait(WAIT_S).to_version == 1
            deployment.await_quiet()
            deployment.await_read_side()
            assert service.poll() is None
        assert "Traceback" not in deployment.said()
        deployment.assert_as_the_model_says()
