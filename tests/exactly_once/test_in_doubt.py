"""A commit whose answer never comes: the broker is paused, killed or gone in that very moment.

The broker is a real one of the test's own, and its process is stopped with signals.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exactly_once.deployment import Deployment, values
from tests.kit.network import SOON_ABORTED
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.streaming.exactly_once.failpoints import Failpoint

pytestmark = [pytest.mark.kafka, pytest.mark.process]
SHORT_S = 5.0  # transaction timeout where the broker stays silent for as long
PATIENT = {"broker.session.timeout.ms": "15000"}  # else it takes itself for dead when it wakes up


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    folder = tmp_path_factory.mktemp("own-broker")
    with EmbeddedBroker(folder, properties=SOON_ABORTED | PATIENT) as broker:
        yield broker
        resume(broker)


@pytest.fixture
def deployment(own_broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Iterator[Deployment]:
    name = request.node.name.replace("_", "-")
    deployment = Deployment(own_broker.bootstrap_servers, name, SHORT_S)
    deployment.create_topics()
    yield deployment
    deployment.close()


@pytest.mark.proves("F-03")
def test_a_commit_that_times_out_is_settled_by_the_progress_record(
    own_broker: EmbeddedBroker, deployment: Deployment
) -> None:
    steps: list[Failpoint] = []

    def pause_during_the_commit(step: Failpoint) -> None:
        steps.append(step)
        if step is Failpoint.BEFORE_COMMIT and Failpoint.IN_DOUBT not in steps:
            pause(own_broker)
        if step is Failpoint.IN_DOUBT:
            resume(own_broker)

    publisher = deployment.claim(on_step=pause_during_the_commit)

    assert publisher.publish(deployment.batch(0), deployment.outputs(0))

    assert Failpoint.IN_DOUBT in steps
    assert publisher.publish(deployment.batch(1), deployment.outputs(1))
    deployment.fence()  # waits for the end of what a busy broker has only promised to commit
    assert deployment.visible() == values(0, 1)


def pause(broker: EmbeddedBroker) -> None:
    """Stop the broker, and return when its last thread has stopped."""
    pid = broker.process.pid
    os.kill(pid, signal.SIGSTOP)
    while any(_state(thread) != "T" for thread in Path(f"/proc/{pid}/task").iterdir()):
        time.sleep(0.001)


def resume(broker: EmbeddedBroker) -> None:
    os.kill(broker.process.pid, signal.SIGCONT)


def _state(thread: Path) -> str:
    return (thread / "stat").read_text().rpartition(")")[2].split()[0]
