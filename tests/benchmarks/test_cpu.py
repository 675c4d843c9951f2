import subprocess
import sys

import psutil
import pytest

from benchmarks.cpu import cpu_by_process

pytestmark = pytest.mark.process
BURN_S = 0.2  # of what the child burns, as the system counts in hundredths
BURNS = f"""
import time
while time.process_time() < {BURN_S} + 0.05:
    pass
"""


def test_an_ended_process_is_counted_too() -> None:
    before = cpu_by_process()["driver"]

    subprocess.run([sys.executable, "-c", BURNS], check=True)

    assert cpu_by_process()["driver"] - before >= BURN_S


def test_an_ended_process_without_a_wait_is_counted_once() -> None:
    before = cpu_by_process()["driver"]

    with subprocess.Popen([sys.executable, "-c", BURNS], stdout=subprocess.PIPE) as ended:
        assert ended.stdout is not None
        ended.stdout.read()  # until it has closed it, at its end
        while psutil.Process(ended.pid).status() != psutil.STATUS_ZOMBIE:
            pass
        waiting = cpu_by_process()["driver"]
    after = cpu_by_process()["driver"]

    assert BURN_S <= waiting - before <= after - before
