"""A processor, kept going: whatever happens to it, commands are decided."""

import logging
import time
from typing import Protocol

from verdict.errors import Late, Unreachable, VerdictError
from verdict.exactly_once.errors import NotPublished

LOG = logging.getLogger("verdict.processing")
RETRY_S = 5.0


class Running(Protocol):
    """What runs beside the decider, and begins where it ended when it is started again."""

    def start(self) -> None:
        """Become the owner and go on."""
        ...

    def check(self) -> None:
        """Return while it runs; raise what ended it."""
        ...

    def stop(self) -> None:
        """End it."""
        ...


class KeptGoing:
    """Starts a processor again while Kafka is out of reach.

    Anything else that ends it, a record, a bug, another owner, is said once and needs a person. The
    decider goes on, and so do the other processors; the marker says where this one continues.

    Args:
        name: Of the processor, for people.
        processor: Not started.
        retry_s: Seconds from a failure that may pass to the next try.
    """

    def __init__(self, name: str, processor: Running, retry_s: float = RETRY_S) -> None:
        self.name = name
        self.stopped: str | None = None  # why it stands still, for good or until the next try
        self._processor = processor
        self._retry_s = retry_s
        self._retry_at: float | None = None

    def start(self) -> None:
        """Start it; returns whether or not that worked."""
        try:
            self._processor.start()
        except Exception as error:
            self._failed(error)

    def check(self) -> None:
        """Look after it; returns soon."""
        if self.stopped is None:
            try:
                self._processor.check()
            except Exception as error:
                self._failed(error)
        elif self._retry_at is not None and time.monotonic() >= self._retry_at:
            self.stopped = self._retry_at = None
            self.start()
            if self.stopped is None:
                LOG.warning("the %s goes on", self.name)

    def stop(self) -> None:
        """End it; what is not published yet comes after the next start."""
        self._processor.stop()

    def _failed(self, error: Exception) -> None:
        self.stopped = str(error) or type(error).__name__
        if isinstance(error, Unreachable | Late | NotPublished):
            self._retry_at = time.monotonic() + self._retry_s
            LOG.error(
                "the %s waits, commands are decided meanwhile; trying again in %g s: %s",
                self.name, self._retry_s, error,
            )  # fmt: skip
        else:
            LOG.error(
                "the %s stopped, commands are decided on; start again once it is mended: %s",
                self.name, error, exc_info=None if isinstance(error, VerdictError) else error,
            )  # fmt: skip
        self._processor.stop()
