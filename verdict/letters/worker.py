"""A thread that goes on: what is out of reach is tried again, a bug ends it."""

import logging
import threading
from typing import Protocol

from verdict.database.address import one_line
from verdict.errors import Unreachable, VerdictError
from verdict.projection.applier import database_failed
from verdict.projection.database import UNDEFINED_TABLE

LOG = logging.getLogger("verdict.letters")
RETRY_S = 5.0
UNDEFINED_SCHEMA = "3F000"


class Work(Protocol):
    """What is done again and again."""

    def step(self) -> float:
        """Do some of it; return after how many seconds to do more."""
        ...

    def reset(self) -> None:
        """Let go what a failure may have left in disorder."""
        ...


class Worker:
    """Takes the steps of a work in a thread of its own until it is stopped.

    Args:
        name: For people: what is stopped when it ends.
        work: Used by this thread alone.
    """

    def __init__(self, name: str, work: Work) -> None:
        self.failure: str | None = None  # why it has ended by itself
        self.name = name
        self._work = work
        self._stopping = threading.Event()
        self._waits: str | None = None  # for what, as was said
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the step that is under way."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        pause_s = 0.0
        while not self._stopping.wait(pause_s) and self.failure is None:
            pause_s = self._step()
        self._work.reset()

    def _step(self) -> float:
        try:
            pause_s = self._work.step()
        except Exception as error:
            return self._failed(error)
        if self._waits is not None:
            self._waits = None
            LOG.warning("the %s goes on", self.name)
        return pause_s

    def _failed(self, error: Exception) -> float:
        said = one_line(getattr(error, "orig", None) or error)
        if not (isinstance(error, Unreachable) or database_failed(error) or _is_missing(error)):
            self.failure = said or type(error).__name__
            bug = None if isinstance(error, VerdictError) else error
            LOG.error(
                "the %s stopped, commands are decided on; start again once it is mended: %s",
                self.name, error, exc_info=bug,
            )  # fmt: skip
            return 0.0
        self._work.reset()
        if said != self._waits:  # once, however long it takes
            LOG.error("the %s waits, %s; trying again every %g s", self.name, said, RETRY_S)
        self._waits = said
        return RETRY_S


def _is_missing(error: Exception) -> bool:
    """Tell whether tables are not there, as in a database that was just made anew.

    For SQLite the database failed then; for PostgreSQL a statement did.
    """
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return state in (UNDEFINED_TABLE, UNDEFINED_SCHEMA)
