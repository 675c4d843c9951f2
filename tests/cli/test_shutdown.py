"""How a service ends: in order after a signal, and within seconds when something died or hangs."""

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

FAILED = """
import threading
from verdict.cli.shutdown import shut_down
from verdict.errors import UnreachableError

def stop():
    print("stopping", flush=True)
    {stop}

shut_down({failure}, stop, seconds=0.1)
"""
SIGNALLED = """
import signal, threading
from verdict.cli.shutdown import StopRequest, exit_timer

stop, hung = StopRequest(), exit_timer(0.1, 7, "it hangs")
stop.listen(hung.start)
signal.raise_signal({number})
assert stop.is_set()
print(stop.by, flush=True)
{then}
"""
HANGS = "threading.Event().wait()"


def ran(program: str) -> tuple[int, str, str]:
    """Return the exit code of a program, and what it printed on stdout and stderr."""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.proves("F-05")
@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        ("UnreachableError('Kafka is gone')", 5, "verdict: Kafka is gone\n"),
        ("ZeroDivisionError('a bug')", 1, "ZeroDivisionError: a bug\n"),
    ],
)
@pytest.mark.parametrize("stop", ["pass", HANGS, "raise OSError('gone too')"])
def test_a_failure_is_printed_and_ends_the_process_whatever_the_rest_does(
    failure: str, code: int, said: str, stop: str
) -> None:
    assert ran(FAILED.format(stop=stop, failure=failure)) == (code, "stopping\n", said)


@pytest.mark.proves("F-09")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_service_in_order_and_one_that_hangs_at_once(
    number: signal.Signals,
) -> None:
    in_order = "hung.cancel(); threading.Event().wait(0.3)"

    assert ran(SIGNALLED.format(number=int(number), then=in_order)) == (0, f"{number.name}\n", "")
    hung = ran(SIGNALLED.format(number=int(number), then=HANGS))
    assert hung == (7, f"{number.name}\n", "it hangs\n")


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("again", ["", "stop.listen(); "])
def test_a_second_signal_ends_the_process_at_once(second: signal.Signals, again: str) -> None:
    """Also after Spark has put its own handler in place of ours."""
    then = f"hung.cancel(); {again}signal.raise_signal({int(second)})"

    assert ran(SIGNALLED.format(number=int(signal.SIGTERM), then=then)) == (
        -second,
        "SIGTERM\n",
        "",
    )


SILENCED = """
import logging
from verdict.cli.shutdown import silence_py4j

silence_py4j()
for file in ("/lib/py4j/clientserver.py", "/lib/verdict/audit.py"):
    exec(compile("logging.error('of ' + file)", file, "exec"))
"""


def test_a_call_to_the_jvm_that_ctrl_c_ends_logs_nothing() -> None:
    assert ran(SILENCED) == (0, "", "ERROR:root:of /lib/verdict/audit.py\n")
