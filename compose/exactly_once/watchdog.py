"""Ends this process when Kafka's client does not come back from a call.

Every call has a timeout, and librdkafka keeps it by threads of its own. When one of those is stuck
(2.16: the thread of a broker that was missing in the cluster's metadata for a moment, while a
transaction waited for its answer), the call never returns and nothing is raised: the service would
stand still without a word. Nobody can end such a call. What this leaves is what kill -9 leaves, and
the next start goes on from it.
"""

import logging
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger("verdict.exactly_once")

FAILURE = 1  # exit code


@contextmanager
def watched(what: str, seconds: float) -> Iterator[None]:
    """End the process when the block takes much longer than it can.

    Args:
        what: Is called, for the message.
        seconds: That it may take; well beyond its own timeout.
    """
    done = threading.Event()
    threading.Thread(
        target=_end_if_late, args=(what, seconds, done), name=f"watches {what}", daemon=True
    ).start()
    try:
        yield
    finally:
        done.set()


def _end_if_late(what: str, seconds: float, done: threading.Event) -> None:
    for _ in range(math.ceil(seconds)):  # counted, as a process that was stopped did not wait
        if done.wait(1):
            return
    LOG.critical(
        "Kafka's client did not come back from %r within %g s, long after its time was up: this "
        "process ends, as by kill -9, and nothing is lost; start it again",
        what, seconds,
    )  # fmt: skip
    logging.shutdown()
    os._exit(FAILURE)
