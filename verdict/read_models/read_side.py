"""The projections, kept going: whatever happens to them, commands are decided."""

import logging
import time
from collections.abc import Callable

from sqlalchemy.exc import DBAPIError

from verdict.database.sqlite_file import AnotherFile
from verdict.errors import Late, Unreachable, VerdictError
from verdict.projection.database import one_line
from verdict.projection.versions import Superseded
from verdict.read_models.running import PassedOverSince, Projecting

LOG = logging.getLogger("verdict.read_side")
RETRY_S = 5.0


class ReadSide:
    """Starts the projections again while their database, or Kafka, is out of reach.

    Anything else that ends them, a bug say, is said once and in SQL, where readers find it, and
    needs a person; the write side goes on, and the positions in SQL say where to continue.

    Args:
        start: Starts the projections and returns them, running.
    """

    def __init__(self, start: Callable[[], Projecting]) -> None:
        self._start = start
        self._projecting: Projecting | None = start()
        self._retry_at: float | None = None
        self._why: str | None = None

    @property
    def stopped(self) -> dict[str, str]:
        """Why the projections stand still, for good or until the next try; empty: they do not."""
        return {} if self._why is None else {"projections": self._why}

    def check(self) -> None:
        """Look after the projections; returns at once."""
        if self._projecting is None:
            if self._retry_at is not None and time.monotonic() >= self._retry_at:
                self._try(self._restart)
            return
        self._try(self._projecting.check)

    def stop(self) -> None:
        """End the projections."""
        if self._projecting is not None:
            self._projecting.stop()
            self._projecting = None

    def _restart(self) -> None:
        self._retry_at = None
        self._projecting = self._start()
        self._why = None
        LOG.warning("the projections follow again")

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except (Superseded, PassedOverSince) as error:
            LOG.warning("%s: the projections begin again with what people decided", error)
            self.stop()
            self._try(self._restart)
        except (Unreachable, Late) as error:
            self._try_later(error)
        except VerdictError as error:
            self._give_up(error)
        except Exception as error:
            self._give_up(error, exc_info=error)

    def _try_later(self, error: Exception) -> None:
        LOG.error("%s; trying again in %g s, commands are decided meanwhile", error, RETRY_S)
        self._retry_at = time.monotonic() + RETRY_S
        self._why = str(error)
        self.stop()

    def _give_up(self, error: Exception, exc_info: Exception | None = None) -> None:
        LOG.error("the projections stopped, commands are decided on: %s", error, exc_info=exc_info)
        self._why = str(error) or type(error).__name__
        stopped = self._projecting
        self.stop()
        try:
            if stopped is not None:
                stopped.park(error)
        except AnotherFile:
            pass  # which has been said, and the file in its place is not ours to write to
        except DBAPIError as failure:
            LOG.error("that could not be written down: %s", one_line(failure.orig))
