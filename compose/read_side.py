"""The projections, kept going: whatever happens to them, commands are decided."""

import logging
import time
from collections.abc import Callable

from compose.errors import Unreachable, VerdictError
from compose.projecting import Projecting
from projections.engine.position import AnotherRunner
from projections.engine.versions import Superseded

LOG = logging.getLogger("verdict.read_side")
RETRY_S = 5.0
LATE_COMMIT_S = 60.0  # by then a server has given up whom it lost


class ReadSide:
    """Starts the projections again while their database, or Kafka, is out of reach.

    Anything else that ends them, a second runner or a bug, is said once and needs a person; the
    write side goes on, and the positions in SQL say where to continue. Another runner soon after a
    failure of the database may be ourselves: a commit that was under way then.

    Args:
        start: Starts the projections and returns them, running.
    """

    def __init__(self, start: Callable[[], Projecting]) -> None:
        self._start = start
        self._projecting: Projecting | None = start()
        self._retry_at: float | None = None
        self._commit_may_come_until = 0.0

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
        LOG.warning("the projections follow again")

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Superseded as error:
            LOG.warning("%s: the projections go on with what readers see", error)
            self.stop()
            self._try(self._restart)
        except Unreachable as error:
            self._try_later(error)
            self._commit_may_come_until = time.monotonic() + LATE_COMMIT_S
        except AnotherRunner as error:
            if time.monotonic() < self._commit_may_come_until:
                self._try_later(error)
            else:
                self._give_up(error)
        except VerdictError as error:
            self._give_up(error)
        except Exception as error:
            LOG.error("the projections stopped, commands are decided on: %s", error, exc_info=error)
            self.stop()

    def _try_later(self, error: Exception) -> None:
        LOG.error("%s; trying again in %g s, commands are decided meanwhile", error, RETRY_S)
        self._retry_at = time.monotonic() + RETRY_S
        self.stop()

    def _give_up(self, error: Exception) -> None:
        LOG.error("the projections stopped, commands are decided on: %s", error)
        self.stop()
