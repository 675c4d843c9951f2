"""What a restart keeps, after a clean stop and while a JVM of the killed process lives on."""

import signal
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from commands.order import DeleteOrder, ModifyOrder
from tests.kit.faults import spark_jvm
from tests.kit.service import PLACE, SELDOM_S, Deployment, await_ready, stop
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.response import Response

pytestmark = pytest.mark.timeout(900)


@pytest.mark.proves("C-05", "C-06", "C-14")
@pytest.mark.thorough
def test_command_ids_and_versions_survive_a_stop_and_a_jvm_that_outlives_its_process(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """The first start finds what one left that was killed at its first write."""
    deployment = Deployment(broker.bootstrap_servers, "restart", tmp_path / "d")
    planned = tmp_path / "d" / "decider" / "generation-1" / "checkpoint" / "offsets"
    planned.mkdir(parents=True)
    (planned / ".0.c7addc67-205b-48c5-896a-e809093aee7d.tmp").write_text("v1")
    with deployment.running():
        placed = deployment.send(PLACE, expected_version=0, command_id="c-1")
        again = deployment.send(PLACE, expected_version=0, command_id="c-1")
        modified = deployment.send(ModifyOrder(quantity=5), expected_version=1, command_id="c-2")
    assert (tmp_path / "d" / "verdict.json").exists() is False

    later, reused, deleted = while_a_jvm_lives_on(deployment)

    assert [placed.duplicate, again.duplicate, later.duplicate] == [False, True, True]
    assert {one.status for one in (placed, again, later)} == {"ACCEPTED"}
    assert placed.event_ids == again.event_ids == later.event_ids
    assert (modified.to_version, reused.reason, deleted.to_version) == (2, "COMMAND_ID_REUSED", 3)
    deployment.assert_as_the_model_says()


def while_a_jvm_lives_on(deployment: Deployment) -> list[Response]:
    """Kill a service whose JVM is paused, and start it again: two never write one checkpoint."""
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
            found = [
                deployment.send(PLACE, expected_version=0, command_id="c-1"),
                deployment.send(DeleteOrder(), expected_version=2, command_id="c-2"),
                deployment.send(DeleteOrder(), expected_version=2, command_id="c-3"),
            ]
            traffic.close()
            deployment.await_quiet()
            stop(service, by=signal.SIGINT)  # Ctrl-C
    return found


def waits_for_the_lock(pid: int, deployment: Deployment) -> None:
    """Return when process `pid` has opened the lock's file; it cannot have the lock."""
    lock = str(deployment.data_dir / "verdict.lock")
    while lock not in {file.path for file in psutil.Process(pid).open_files()}:
        assert psutil.pid_exists(pid)
    assert Path(lock).read_text() != str(pid)
