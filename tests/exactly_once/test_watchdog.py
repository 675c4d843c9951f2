"""A call of Kafka's client that never returns ends the process, and says so."""

import subprocess
import sys
import threading

from compose.exactly_once.watchdog import watched

HANGS = """
import logging, threading
from compose.exactly_once.watchdog import watched
logging.basicConfig()
with watched("send offsets", 1):
    threading.Event().wait()
"""


def test_a_call_that_never_returns_ends_the_process_with_words() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=60
    )

    assert ended.returncode == 1
    assert "did not come back from 'send offsets' within 1 s" in ended.stderr
    assert "start it again" in ended.stderr


def test_nobody_watches_a_call_that_is_over() -> None:
    with watched("commit", 60):
        [watching] = [one for one in threading.enumerate() if one.name == "watches commit"]

    watching.join(10)
    assert not watching.is_alive()
