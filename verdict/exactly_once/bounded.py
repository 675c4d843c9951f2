"""Calls of Kafka's client that never return cost a thread, and not the service.

Every call has a timeout, and librdkafka keeps it by threads of its own. When one of those is stuck
(2.16: the thread of a broker that was missing in the cluster's metadata for a moment, while a
transaction waited for its answer), the call never returns and nothing is raised: the service would
stand still without a word. Nobody can end such a call, so each runs in a thread that can be left.
"""

import math
from collections.abc import Callable
from threading import Event, Thread
from typing import TypeVar

Answer = TypeVar("Answer")


class Stuck(Exception):
    """A call did not come back; whether it will do something yet, nobody knows."""


def within(seconds: float, what: str, call: Callable[[], Answer]) -> Answer:
    """Return what `call` returns, or raise what it raises.

    Args:
        seconds: That it may take; well beyond its own timeout.
        what: Is called, for the message.
        call: Runs in a thread of its own, which is left when it does not come back.

    Raises:
        Stuck: It has not come back.
    """
    answers: list[Answer] = []
    errors: list[BaseException] = []
    done = Event()

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    Thread(target=run, name=what, daemon=True).start()
    # counted, as a process that was stopped did not wait
    if not any(done.wait(1) for _ in range(math.ceil(seconds))):
        raise Stuck(f"Kafka's client did not come back from {what!r} within {seconds:g} s")
    if errors:
        raise errors.pop()
    return answers.pop()
