"""What runs beside the decider, kept going: whatever happens to it, commands are decided."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(kw_only=True)
class KeptGoing:
    """Starts again what Kafka, or its database, out of reach has ended.

    Anything else that ends it, a record, a bug, another owner, is said once and needs a person. The
    decider goes on, and so do the others; marker or positions say where this one continues.

    Args:
        name: Of what runs, for people.
        runs: Not started.
        retry_s: Seconds from a failure that may pass to the next try.
        over: Called with what ended it for good, once it is stopped.
        must_begin: Whether a first start that fails is for who starts it to handle.
        alone: Whether what ends it for good is for who checks it to handle, as nobody else runs.
        reachable: Whether Kafka is there; while it is not, nothing is tried.
        look_behind: Called before a bug is said; raises what it only follows from, such as the
            death of the JVM that was asked.

    Attributes:
        why: It is stopped, for good or until the next try; None: it does not.
    """

    name: str
    runs: Running
    retry_s: float = RETRY_S
    over: Callable[[Exception], None] = lambda _: None
    must_begin: bool = False
    alone: bool = False
    reachable: Callable[[], bool] = lambda: True
    look_behind: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.why: str | None = None
        self._said = ""  # why it was stopped last, until it runs
        self._retry_at: float | None = None

    @property
    def stopped(self) -> dict[str, str]:
        """Its name and why it is stopped, if it is."""
        return {} if self.why is None else {self.name: self.why}

    def start(self) -> None:
        """Start it; unless it must begin, this returns whether or not that worked."""
        if self.must_begin or self.alone:
            self.runs.start()
        else:
            self._begin()

    def await_ready(self, check: Callable[[], None]) -> None:
        """Return at once: it has begun, or is tried again."""

    def check(self) -> None:
        """Look after it; returns soon.

        Raises:
            Exception: What ended it for good, if it is alone; what `look_behind` raises.
        """
        if not self.reachable():
            return  # whatever is tried again would only wait
        if self.why is None:
            try:
                self.runs.check()
            except Exception as error:
                self._failed(error)
        elif self._retry_at is not None and time.monotonic() >= self._retry_at:
            self._again()

    def stop(self) -> None:
        """End it; what is not done yet comes after the next start."""
        self.runs.stop()

    def _begin(self) -> None:
        try:
            self.runs.start()
        except Exception as error:
            self._failed(error)

    def _again(self) -> None:
        self.why = self._retry_at = None
        self._begin()
        if self.why is None:
            self._said = ""
            LOG.warning("the %s started again", self.name)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, BeginAgain):
            LOG.warning("%s: the %s begin again with what people decided", error, self.name)
            self.runs.stop()
            self._again()
            return
        if not isinstance(error, VerdictError):
            self.look_behind()
        self.why = str(error) or type(error).__name__
        passing = isinstance(error, Unreachable | Late | NotPublished)
        if passing:
            self._retry_at = time.monotonic() + self.retry_s
            if self._said != self.why:  # each reason once, not at every try
                LOG.error(
                    "the %s stopped, commands are decided meanwhile; trying again every %g s: %s",
                    self.name, self.retry_s, error,
                )  # fmt: skip
                self._said = self.why
        elif not self.alone:
            LOG.error(
                "the %s stopped, commands are decided on; start again once it is mended: %s",
                self.name, error, exc_info=None if isinstance(error, VerdictError) else error,
            )  # fmt: skip
        self.runs.stop()
        if not passing:
            self.over(error)
            if self.alone:
                raise error
