"""A service that a part of it has died of: what it says, and that it ends though the rest waits."""

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

LEAVES = """
import threading
from verdict.cli.shutdown import shut_down
from verdict.errors import UnreachableError

def stop():
    print("stopping", flush=True)
    {stop}

shut_down({failure}, stop, seconds=0.1)
"""


@pytest.mark.proves("F-05")
@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        ("UnreachableError('Kafka is gone')", 5, "verdict: Kafka is gone\n"),
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


UNHEARD = """
import threading
from verdict.cli.shutdown import exit_quietly

asked, started, heard = threading.Event(), threading.Event(), threading.Event()
exit_quietly(asked, started, heard, seconds={seconds})
{start}
asked.set()
{hear}
threading.Event().wait({stopping})
"""


def asked_to_stop(
    start: str = "", hear: str = "", stopping: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a process that is asked to stop, and waits for 0.1 s until somebody hears it."""
    program = UNHEARD.format(seconds=0.1, start=start, hear=hear, stopping=stopping)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )


@pytest.mark.proves("F-09")
def test_who_is_asked_to_stop_and_hangs_is_ended() -> None:
    ended = asked_to_stop(start="started.set()")

    assert ended.returncode == 1
    assert ended.stderr.startswith("verdict: what was asked to stop did not answer for 0.1 s")
    assert ended.stderr.endswith("ended as by kill -9, nothing is lost\n")


def test_who_is_asked_to_stop_while_it_starts_has_not_failed() -> None:
    ended = asked_to_stop()

    assert ended.returncode == 0
    assert ended.stderr.startswith("stopped while it was starting: the next start goes on")


def test_who_has_heard_it_takes_its_time() -> None:
    ended = asked_to_stop(start="started.set()", hear="heard.set()", stopping="0.5")

    assert (ended.returncode, ended.stderr) == (0, "")


SIGNALLED = """
import signal
from verdict.cli.shutdown import StopRequest, stop_on_signals
from verdict.cli.up import stopping

asked = StopRequest()
stop_on_signals(asked)
signal.raise_signal({number})
assert asked.is_set()
print(stopping(asked.by, kafka_is_there={there}))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("there", "said"),
    [(True, "the batch under way is finished first"), (False, "Kafka is away, what is under way")],
)
def test_who_stops_names_the_signal(number: signal.Signals, there: bool, said: str) -> None:
    program = SIGNALLED.format(number=int(number), there=there)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"stopping on {number.name}: {said}")


SAID = """
import logging
from verdict.cli.shutdown import silence_py4j

silence_py4j()
for file in ("/lib/py4j/clientserver.py", "/lib/verdict/audit.py"):
    exec(compile("logging.error('of ' + file)", file, "exec"))
"""


def test_what_a_call_to_the_jvm_logs_that_ctrl_c_has_ended_is_not_shown() -> None:
    ended = subprocess.run([sys.executable, "-c", SAID], capture_output=True, text=True, timeout=60)

    assert ended.stderr == "ERROR:root:of /lib/verdict/audit.py\n"
