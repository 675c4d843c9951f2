"""What runs beside the decider, kept going: whatever happens to it, commands are decided."""

import logging
import time
from collections.abc import Callable
from typing import Protocol

from verdict.errors import BeginAgain, Late, Unreachable, VerdictError
from verdict.exactly_once.errors import NotPublished

LOG = logging.getLogger("verdict.processing")
RETRY_S = 5.0


class Running(Protocol):
    """What runs beside the decider, and begins where it ended when it is started again."""

    def start(self) -> None:
        """Go on."""
        ...

    def check(self) -> None:
        """Return while it runs; raise what ended it."""
        ...

    def stop(self) -> None:
        """End it."""
        ...


class KeptGoing:
    """Starts again what Kafka, or its database, out of reach has ended.

    Anything else that ends it, a record, a bug, another owner, is said once and needs a person. The
    decider goes on, and so do the others; marker or positions say where this one continues.

    Args:
        name: Of what runs, for people.
        runs: Not started.
        retry_s: Seconds from a failure that may pass to the next try.
        over: Called with what ended it for good, once it is stopped.

    Attributes:
        stopped: Why it is stopped, for good or until the next try; None: it does not.
    """

    def __init__(
        self,
        name: str,
        runs: Running,
        retry_s: float = RETRY_S,
        over: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self.name = name
        self.stopped: str | None = None
        self._runs = runs
        self._retry_s = retry_s
        self._over = over
        self._retry_at: float | None = None

    def start(self) -> None:
        """Start it; returns whether or not that worked."""
        try:
            self._runs.start()
        except Exception as error:
            self._failed(error)

    def check(self) -> None:
        """Look after it; returns soon."""
        if self.stopped is None:
            try:
                self._runs.check()
            except Exception as error:
                self._failed(error)
        elif self._retry_at is not None and time.monotonic() >= self._retry_at:
            self._again()

    def stop(self) -> None:
        """End it; what is not done yet comes after the next start."""
        self._runs.stop()

    def _again(self) -> None:
        self.stopped = self._retry_at = None
        self.start()
        if self.stopped is None:
            LOG.warning("the %s started again", self.name)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, BeginAgain):
            LOG.warning("%s: the %s begin again with what people decided", error, self.name)
            self._runs.stop()
            self._again()
            return
        self.stopped = str(error) or type(error).__name__
        passing = isinstance(error, Unreachable | Late | NotPublished)
        if passing:
            self._retry_at = time.monotonic() + self._retry_s
            LOG.error(
                "the %s stopped, commands are decided meanwhile; trying again in %g s: %s",
                self.name, self._retry_s, error,
            )  # fmt: skip
        else:
            LOG.error(
                "the %s stopped, commands are decided on; start again once it is mended: %s",
                self.name, error, exc_info=None if isinstance(error, VerdictError) else error,
            )  # fmt: skip
        self._runs.stop()
        if not passing:
            self._over(error)
