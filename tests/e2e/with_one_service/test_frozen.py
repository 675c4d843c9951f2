"""What stands still is said: by the log, by `verdict status`, by the exit code of `--check`.

Nothing is wrong before, so this comes before what others send leaves letters that are named, too.
"""

import signal

import psutil
import pytest

from commands.order import ModifyOrder
from tests.kit.deployment import await_true
from tests.kit.faults import signal_all
from tests.kit.service import PLACE, WAIT_S, Deployment, Process

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]


@pytest.mark.proves("F-06", "F-07")
def test_a_batch_that_does_not_end_is_said_and_a_worker_that_is_killed_costs_nothing(
    service: Process, deployment: Deployment
) -> None:
    """G-05, G-06: first the Python workers are frozen, later they are killed."""
    with deployment.client() as c:
        assert python_workers(service)  # `ready` came after the operator was tried
        c.send("frozen", PLACE, expected_version=0).wait(WAIT_S)
        deployment.await_read_side()
        check(deployment, 0)
        workers = python_workers(service)
        signal_all(workers, signal.SIGSTOP)
        waiting = c.send("frozen", ModifyOrder(quantity=5), expected_version=1)
        checked = check(deployment, 1, "of decider has been under way since")
        assert not waiting.done
        signal_all(workers, signal.SIGCONT)
        assert waiting.wait(WAIT_S).to_version == 2
        check(deployment, 0)
        signal_all(python_workers(service), signal.SIGKILL)
        later = c.send("frozen", ModifyOrder(quantity=4), expected_version=2)
        assert later.wait(WAIT_S).to_version == 3
    deployment.await_read_side()
    said = deployment.said()

    assert "has not ended: see what its Python workers and Spark do" in checked
    assert "of decider has been under way for" in said
    assert "of decider has ended after" in said
    assert "Traceback" not in said
    deployment.assert_as_the_model_says()


def python_workers(service: Process) -> list[psutil.Process]:
    """Return Spark's Python processes that live, those that fork the others among them."""
    return [
        one for one in psutil.Process(service.pid).children(recursive=True) if is_python_worker(one)
    ]


def is_python_worker(process: psutil.Process) -> bool:
    try:
        return "verdict.service.worker_daemon" in process.cmdline()
    except psutil.NoSuchProcess:  # Spark ends idle workers at any time; or a zombie
        return False


def check(deployment: Deployment, code: int, text: str = "") -> str:
    """Return what `verdict status --check` says, once it ends with that code and says `text`."""
    asked = deployment.cli("status", "--check")

    def is_reported() -> bool:
        nonlocal asked
        asked = deployment.cli("status", "--check")
        return asked.returncode == code and text in asked.stdout

    await_true(is_reported, what=lambda: asked)
    return asked.stdout
