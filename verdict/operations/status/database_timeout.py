"""Questions to a database that may hang: each is awaited for a moment, and then left.

A driver's timeout does not end them all: a stopped server, or a pool in front of it, takes
connections and answers nothing.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeVar

from verdict.errors import UnreachableError

Answer = TypeVar("Answer")

WAIT_S = 2.0
LATE_S = 10.0  # the next call uses an answer that came late, if it is no older


@dataclass(frozen=True, slots=True)
class _Question:
    since: float = field(default_factory=monotonic)
    answer: Future[Any] = field(default_factory=Future)

    def ask(self, question: Callable[[], Any]) -> None:
        try:
            self.answer.set_result(question())
        except BaseException as error:
            self.answer.set_exception(error)


class DatabaseTimeout:
    """Asks in threads that can be left, and asks nothing again before it is answered.

    Safe between threads: those who ask the same at the same time get the same answer.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[str, _Question] = {}

    def ask(self, name: str, question: Callable[[], Answer]) -> Answer:
        """Return what `question` returns, or raise what it raises; UnreachableError if late."""
        asked = self._under_way(name, question)
        wait([asked.answer], max(asked.since + WAIT_S - monotonic(), 0))
        if not asked.answer.done():
            raise UnreachableError(
                f"the database has not answered for {monotonic() - asked.since:.0f} s: see that it "
                "runs, and what its sessions wait for; commands are decided without it"
            )
        with self._lock:
            if self._asked.get(name) is asked:
                del self._asked[name]
        found: Answer = asked.answer.result()
        return found

    def _under_way(self, name: str, question: Callable[[], Any]) -> _Question:
        with self._lock:
            asked = self._asked.get(name)
            if asked is not None and not (
                asked.answer.done() and monotonic() - asked.since > LATE_S
            ):
                return asked
            asked = self._asked[name] = _Question()
        # a daemon: nothing can end it, and a process must not wait for it at its end
        threading.Thread(target=asked.ask, args=(question,), name=name, daemon=True).start()
        return asked
