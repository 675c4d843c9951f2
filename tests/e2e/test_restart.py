"""What a restart keeps, after a clean stop and while a JVM of the killed process lives on."""

import signal
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from commands.order import DeleteOrder, ModifyOrder, PlaceOrder
from tests.application import APPLICATION
from tests.e2e.deployment import Deployment, await_ready, stop
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.client.client import Client
from verdict.wire.response import Response

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.process]

WAIT_S = 120
SELDOM_S = 0.05  # between two commands
PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)


@pytest.mark.proves("C-05", "C-06", "C-14")
@pytest.mark.thorough
def test_command_ids_and_versions_survive_a_restart(broker: EmbeddedBroker, tmp_path: Path) -> None:
    """C-05, C-06, C-14; the first start finds what one left that was killed at its first write."""
    deployment = Deployment(broker.bootstrap_servers, "restart", tmp_path / "d")
    planned = tmp_path / "d" / "decider" / "generation-1" / "checkpoint" / "offsets"
    planned.mkdir(parents=True)
    (planned / ".0.c7addc67-205b-48c5-896a-e809093aee7d.tmp").write_text("v1")
    with deployment.running():
        placed = send(deployment, PLACE, expected_version=0, command_id="c-1")
        again = send(deployment, PLACE, expected_version=0, command_id="c-1")
        modified = send(deployment, ModifyOrder(quantity=5), expected_version=1, command_id="c-2")
    assert (tmp_path / "d" / "verdict.json").exists() is False

    with deployment.running():
        later = send(deployment, PLACE, expected_version=0, command_id="c-1")
        reused = send(deployment, DeleteOrder(), expected_version=2, command_id="c-2")
        deleted = send(deployment, DeleteOrder(), expected_version=2, command_id="c-3")
        deployment.await_quiet()

    assert [placed.duplicate, again.duplicate, later.duplicate] == [False, True, True]
    assert {one.status for one in (placed, again, later)} == {"ACCEPTED"}
    assert placed.event_ids == again.event_ids == later.event_ids
    assert modified.to_version == 2
    assert reused.reason == "COMMAND_ID_REUSED"
    assert deleted.to_version == 3
    deployment.assert_as_the_model_says()


@pytest.mark.proves("C-14")
@pytest.mark.thorough
def test_a_jvm_that_outlives_its_process_is_waited_for(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """C-14: two JVMs never write one checkpoint; a paused one holds the directory's lock."""
    deployment = Deployment(broker.bootstrap_servers, "orphan", tmp_path / "d")
    with ExitStack() as traffic:
        traffic.enter_context(deployment.traffic(seed=3, pause_s=SELDOM_S))
        with deployment.start() as killed:
            await_ready(killed)
            jvm = spark_jvm(killed.pid)
            jvm.suspend()
            killed.kill()
        with deployment.start() as service:
            waits_for_the_lock(service.pid, deployment)
            jvm.send_signal(signal.SIGCONT)  # sees that its parent is gone, and ends
            await_ready(service)
            assert not jvm.is_running()
            send(deployment, PLACE, expected_version=0, command_id="c-1")
            traffic.close()
            deployment.await_quiet()
            stop(service, by=signal.SIGINT)  # Ctrl-C

    deployment.assert_as_the_model_says()


def send(
    deployment: Deployment,
    command: PlaceOrder | ModifyOrder | DeleteOrder,
    *,
    expected_version: int,
    command_id: str,
) -> Response:
    with Client(APPLICATION, deployment.bootstrap_servers, topics=deployment.topics) as client:
        pending = client.send(
            "order-1", command, expected_version=expected_version, command_id=command_id
        )
        return pending.wait(timeout_s=WAIT_S)


def spark_jvm(pid: int) -> psutil.Process:
    """Return the JVM of Spark that process `pid` started."""
    children = psutil.Process(pid).children(recursive=True)
    return next(child for child in children if "SparkSubmit" in " ".join(child.cmdline()))


def waits_for_the_lock(pid: int, deployment: Deployment) -> None:
    """Return when process `pid` has opened the lock's file; it cannot have the lock."""
    lock = str(deployment.data_dir / "verdict.lock")
    while lock not in {file.path for file in psutil.Process(pid).open_files()}:
        assert psutil.pid_exists(pid)
    assert Path(lock).read_text() != str(pid)
