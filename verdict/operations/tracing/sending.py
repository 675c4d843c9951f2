"""Exports spans to a collector, and finds out why a collector does not take them."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from verdict.errors import UnreachableError

EXPORTERS = logging.getLogger("opentelemetry")  # they log why, and return only that it failed
AT_ONCE = 500  # spans: a collector refuses a request of many megabytes, every time
TRANSIENT = re.compile(r"^Transient error (.*) encountered while ", re.DOTALL)


class CollectorError(UnreachableError):
    """The collector did not take spans; it may take them later."""


class Collector(Protocol):
    """Takes spans, as an exporter of OpenTelemetry's SDK does."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Return whether it has taken them."""
        ...


def export(collector: Collector, spans: Sequence[ReadableSpan]) -> None:
    """Return when the collector has taken all spans, in their order.

    Raises:
        CollectorError: It did not take some; those before may have been taken.
    """
    for start in range(0, len(spans), AT_ONCE):
        with _reasons() as reasons:
            result = collector.export(spans[start : start + AT_ONCE])
        if result is not SpanExportResult.SUCCESS:
            raise CollectorError(f"the collector does not take spans: {reasons.last}")


class Reasons(logging.Handler):
    """Keeps why an exporter failed, instead of writing it to the log.

    An exporter logs the true reason before it tries again by itself. That it gave up comes last,
    and says nothing more.
    """

    def __init__(self) -> None:
        super().__init__()
        self.last = "no reason is known"
        self._is_transient = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        transient = TRANSIENT.search(record.getMessage())
        if transient is not None:
            self.last, self._is_transient = transient[1], True
        elif not self._is_transient:
            self.last = record.getMessage()


@contextmanager
def _reasons() -> Iterator[Reasons]:
    reasons, propagate = Reasons(), EXPORTERS.propagate
    EXPORTERS.propagate = False
    EXPORTERS.addHandler(reasons)
    try:
        yield reasons
    finally:
        EXPORTERS.removeHandler(reasons)
        EXPORTERS.propagate = propagate
