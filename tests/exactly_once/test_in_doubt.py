"""A commit whose answer never comes: the broker is paused, killed or gone in that very moment.

The broker is a real one of the test's own, and its process is stopped with signals.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.exactly_once.deployment import Deployment, values
from tests.exactly_once.proxy import SOON_ABORTED
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import UnreachableError
from verdict.streaming.exactly_once.failpoints import Failpoint
from verdict.streaming.exactly_once.publisher import PublishResult

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

    assert publisher.publish(deployment.batch(0), deployment.outputs(0)) is PublishResult.PUBLISHED

    assert Failpoint.IN_DOUBT in steps
    assert publisher.publish(deployment.batch(1), deployment.outputs(1)) is PublishResult.PUBLISHED
    deployment.fence()  # waits for the end of what a busy broker has only promised to commit
    assert deployment.visible() == values(0, 1)


@pytest.mark.proves("C-14")
@pytest.mark.long
def test_a_connection_lost_during_the_commit_is_settled_by_the_progress_record(
    own_broker: EmbeddedBroker, deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    """The client itself would send the commit again and report success, as if nothing were."""
    deployment.kafka = replace(deployment.kafka, transaction_timeout_s=60.0)
    steps: list[Failpoint] = []
    restarting = threading.Thread(target=restart_when_asked, args=[own_broker])

    def kill_during_the_commit(step: Failpoint) -> None:
        steps.append(step)
        if step is Failpoint.BEFORE_COMMIT and Failpoint.IN_DOUBT not in steps:
            pause(own_broker)
            restarting.start()

    publisher = deployment.claim(on_step=kill_during_the_commit)

    assert publisher.publish(deployment.batch(0), deployment.outputs(0)) is PublishResult.PUBLISHED

    restarting.join()
    assert Failpoint.IN_DOUBT in steps
    assert "a connection was lost during the commit" in caplog.text
    assert deployment.visible() == values(0)


@pytest.mark.campaign  # on a busy machine the broker may not come back in time
def test_when_kafka_stays_away_the_owner_stops_and_the_next_start_finds_out(
    own_broker: EmbeddedBroker, deployment: Deployment
) -> None:
    def pause_for_good(step: Failpoint) -> None:
        if step is Failpoint.BEFORE_COMMIT:
            pause(own_broker)

    publisher = deployment.claim(on_step=pause_for_good)

    with pytest.raises(UnreachableError, match=own_broker.bootstrap_servers):
        publisher.publish(deployment.batch(0), deployment.outputs(0))

    resume(own_broker)
    # a broker that has slept so long registers anew before it answers
    deployment.kafka = replace(deployment.kafka, transaction_timeout_s=60.0)
    next_owner = deployment.claim(deployment.checkpoint(0, committed=False))
    next_owner.publish(deployment.batch(0), deployment.outputs(0))
    assert deployment.visible() == values(0)


@pytest.mark.long
def test_an_owner_paused_past_the_transaction_timeout_goes_on_when_nobody_took_over(
    deployment: Deployment,
) -> None:
    """Kafka aborts its transaction meanwhile, and fences it by doing so."""
    steps: list[Failpoint] = []

    def oversleep(step: Failpoint) -> None:
        steps.append(step)
        if step is Failpoint.BEFORE_COMMIT and Failpoint.IN_DOUBT not in steps:
            await_abort(deployment)

    publisher = deployment.claim(on_step=oversleep)

    assert publisher.publish(deployment.batch(0), deployment.outputs(0)) is PublishResult.PUBLISHED

    assert Failpoint.IN_DOUBT in steps
    assert deployment.visible() == values(0)


def jvm(broker: EmbeddedBroker) -> psutil.Process:
    return psutil.Process(int((broker.data_dir / "broker.pid").read_text()))


def pause(broker: EmbeddedBroker) -> None:
    """Stop the broker, and return when its last thread has stopped."""
    pid = jvm(broker).pid
    os.kill(pid, signal.SIGSTOP)
    while any(_state(thread) != "T" for thread in Path(f"/proc/{pid}/task").iterdir()):
        time.sleep(0.001)


def resume(broker: EmbeddedBroker) -> None:
    os.kill(jvm(broker).pid, signal.SIGCONT)


def restart_when_asked(broker: EmbeddedBroker) -> None:
    """Kill the paused broker as soon as a request waits at its door, and start it again."""
    port = int(broker.bootstrap_servers.rpartition(":")[2])
    while not bytes_waiting_for(port):
        time.sleep(0.01)
    broker.kill()
    broker.start()


def bytes_waiting_for(port: int) -> int:
    """Return how many bytes lie in the receive queues of the connections of `port`."""
    waiting = 0
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            _, local, _, _, queues, *_ = line.split()
            if int(local.rpartition(":")[2], 16) == port:
                waiting += int(queues.rpartition(":")[2], 16)
    return waiting


def await_abort(deployment: Deployment) -> None:
    """Return when Kafka itself has ended the transaction that is open on the progress records."""
    while deployment.progress_is_hidden():
        time.sleep(0.2)


def _state(thread: Path) -> str:
    return (thread / "stat").read_text().rpartition(")")[2].split()[0]
