"""Hands spans to a collector, few at a time, and tries again until it has taken them."""

import logging
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

LOG = logging.getLogger("verdict.tracing")
EXPORTERS = logging.getLogger("opentelemetry")  # they say there why, and return that it failed
AT_ONCE = 500  # spans: a collector refuses a request of many megabytes, every time
RETRY_S = 5.0
TRANSIENT = re.compile(r"^Transient error (.*) encountered while ", re.DOTALL)


class Collector(Protocol):
    """Takes spans, as an exporter of OpenTelemetry's SDK does."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Return whether it has taken them."""
        ...


class Sending:
    """Sends spans in their order; says once that the collector is away, why, and when it is back.

    Args:
        collector: Takes them.
        stopped: Waits for so many seconds at most; tells whether this shall end.
        waiting: Called each time that it has to wait.
    """

    def __init__(
        self,
        collector: Collector,
        stopped: Callable[[float], bool],
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self._collector = collector
        self._stopped = stopped
        self._waiting = waiting
        self._reasons = Reasons()
        self._refused: str | None = None  # what was said of why

    def __enter__(self) -> "Sending":
        self._propagated, EXPORTERS.propagate = EXPORTERS.propagate, False
        EXPORTERS.addHandler(self._reasons)
        return self

    def __exit__(self, *_: object) -> None:
        EXPORTERS.removeHandler(self._reasons)
        EXPORTERS.propagate = self._propagated

    def send(self, spans: Sequence[ReadableSpan]) -> bool:
        """Return whether the collector took all; tries again until it does, or this is stopped."""
        for start in range(0, len(spans), AT_ONCE):
            while not self._taken(spans[start : start + AT_ONCE]):
                self._waiting()
                if self._stopped(RETRY_S):
                    LOG.warning(
                        "%s spans were not taken: those of commands and events are sent at the "
                        "next start",
                        len(spans) - start,
                    )
                    return False
        return True

    def _taken(self, spans: Sequence[ReadableSpan]) -> bool:
        self._reasons.forget()
        if self._collector.export(spans) is SpanExportResult.SUCCESS:
            if self._refused is not None:
                LOG.warning("the collector takes spans again")
            self._refused = None
            return True
        if self._reasons.last != self._refused:
            self._refused = self._reasons.last
            LOG.warning("the collector does not take spans, trying again: %s", self._refused)
        return False


class Reasons(logging.Handler):
    """Keeps why exporters failed, in place of lines beside ours.

    What they try again by themselves they say first, with the true reason; that they gave it up
    comes last, and says nothing more.
    """

    last = "no reason is known"
    _passing = False

    def forget(self) -> None:
        """Begin with another try."""
        self.last, self._passing = Reasons.last, False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        passing = TRANSIENT.search(record.getMessage())
        if passing is not None:
            self.last, self._passing = passing[1], True
        elif not self._passing:
            self.last = record.getMessage()
