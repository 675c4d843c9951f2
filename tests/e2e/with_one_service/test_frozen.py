"""What stands still is said: by the log, by `verdict status`, by the exit code of `--check`.

Nothing is wrong before, so this comes before what others send leaves letters that are named, too.
"""

import contextlib
import signal
import subprocess
import time

import psutil
import pytest

from commands.order import ModifyOrder, PlaceOrder
from tests.application import APPLICATION
from tests.e2e.deployment import Deployment
from verdict.client.client import Client

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.process,
    pytest.mark.long,
]

WAIT_S = 120
PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)


@pytest.mark.proves("F-06", "F-07")
def test_a_batch_that_does_not_end_is_said_and_a_worker_that_is_killed_costs_nothing(
    service: "subprocess.Popen[str]", deployment: Deployment
) -> None:
    """G-05, G-06: first the Python workers are frozen, later they are killed."""
    with Client(APPLICATION, deployment.bootstrap_servers, deployment.topics) as c:
        assert python_workers(service)  # `ready` came after the operator was tried
        c.send("frozen", PLACE, expected_version=0).wait(WAIT_S)
        deployment.await_read_side()
        check(deployment, 0)
        workers = python_workers(service)
        tell(workers, signal.SIGSTOP)
        waiting = c.send("frozen", ModifyOrder(quantity=5), expected_version=1)
        checked = check(deployment, 1, "of decider has been under way since")
        assert not waiting.done
        tell(workers, signal.SIGCONT)
        assert waiting.wait(WAIT_S).to_version == 2
        check(deployment, 0)
        tell(python_workers(service), signal.SIGKILL)
        later = c.send("frozen", ModifyOrder(quantity=4), expected_version=2)
        assert later.wait(WAIT_S).to_version == 3
    deployment.await_read_side()
    said = deployment.said()

    assert "has not ended: see what its Python workers and Spark do" in checked
    assert "of decider has been under way for" in said
    assert "of decider has ended after" in said
    assert "Traceback" not in said
    deployment.assert_as_the_model_says()


def python_workers(service: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Return Spark's Python processes that live, those that fork the others among them."""
    return [
        one for one in psutil.Process(service.pid).children(recursive=True) if is_python_worker(one)
    ]


def is_python_worker(process: psutil.Process) -> bool:
    try:
        return "pyspark.daemon" in process.cmdline()
    except psutil.NoSuchProcess:  # Spark ends idle workers at any time; or a zombie
        return False


def tell(processes: list[psutil.Process], number: signal.Signals) -> None:
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.send_signal(number)


def check(deployment: Deployment, code: int, text: str = "") -> str:
    """Return what `verdict status --check` says, once it ends with that code and says `text`."""
    deadline = time.monotonic() + WAIT_S
    while True:
        asked = deployment.cli("status", "--check")
        if asked.returncode == code and text in asked.stdout:
            return asked.stdout
        assert time.monotonic() < deadline, asked
