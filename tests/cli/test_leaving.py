"""A service that a part of it has died of: what it says, and that it ends though the rest waits."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

LEAVES = """
import threading
from verdict.cli.leaving import leave
from verdict.errors import Unreachable

def stop():
    print("stopping", flush=True)
    {stop}

leave({failure}, stop, seconds=0.1)
"""


@pytest.mark.proves("F-05")
@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        ("Unreachable('Kafka is gone')", 5, "verdict: Kafka is gone\n"),
        ("ZeroDivisionError('a bug')", 1, "ZeroDivisionError: a bug\n"),
    ],
)
@pytest.mark.parametrize("stop", ["pass", "threading.Event().wait()", "raise OSError('gone too')"])
def test_it_is_said_and_the_process_ends_whatever_the_rest_does(
    failure: str, code: int, said: str, stop: str
) -> None:
    program = LEAVES.format(stop=stop, failure=failure)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "stopping\n", said)
