"""Questions to a database that may hang: each is awaited for a moment, and then left.

A driver's timeout does not end them all: a stopped server, or a pool in front of it, takes
connections and answers nothing.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from time import monotonic
from typing import Any, TypeVar

from verdict.errors import UnreachableError

Answer = TypeVar("Answer")

WAIT_S = 2.0
LATE_S = 10.0  # the next call uses an answer that came late, if it is no older


class DatabaseTimeout:
    """Asks in threads that can be left, and asks nothing again before it is answered.

    Safe between threads: those who ask the same at the same time get the same answer.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[str, tuple[float, Future[Any]]] = {}

    def ask(self, name: str, question: Callable[[], Answer]) -> Answer:
        """Return what `question` returns, or raise what it raises; UnreachableError if late."""
        asked = since, answer = self._under_way(name, question)
        wait([answer], max(since + WAIT_S - monotonic(), 0))
        if not answer.done():
            raise UnreachableError(
                f"the database has not answered for {monotonic() - since:.0f} s: see that it "
                "runs, and what its sessions wait for; commands are decided without it"
            )
        with self._lock:
            if self._asked.get(name) is asked:
                del self._asked[name]
        found: Answer = answer.result()
        return found

    def _under_way(self, name: str, question: Callable[[], Any]) -> tuple[float, Future[Any]]:
        with self._lock:
            asked = self._asked.get(name)
            if asked and not (asked[1].done() and monotonic() - asked[0] > LATE_S):
                return asked
            asked = self._asked[name] = monotonic(), Future()
        # a daemon: nothing can end it, and a process must not wait for it at its end
        threading.Thread(target=_ask, args=(question, asked[1]), name=name, daemon=True).start()
        return asked


def _ask(question: Callable[[], Any], answer: Future[Any]) -> None:
    try:
        answer.set_result(question())
    except BaseException as error:
        answer.set_exception(error)
