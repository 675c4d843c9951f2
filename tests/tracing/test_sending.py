"""U-05: spans go to a collector few at a time, and who is away is said once."""

from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from verdict.tracing import sending as module
from verdict.tracing.sending import EXPORTERS, Sending

SPANS = [ReadableSpan(str(number)) for number in range(7)]


class Moody:
    """A collector that takes no more than three at once, and refuses some times, saying why."""

    def __init__(self, *refusals: str) -> None:
        self.refusals = [*refusals]
        self.taken: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.refusals:
            EXPORTERS.error("refused: %s", self.refusals.pop(0))
            return SpanExportResult.FAILURE
        if len(spans) > 3:
            return SpanExportResult.FAILURE
        self.taken += [span.name for span in spans]
        return SpanExportResult.SUCCESS


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 3)


def test_many_go_in_requests_of_a_size_that_is_taken_in_their_order() -> None:
    """A read side that was away gave a request of 60 MB, which was refused for ever."""
    collector = Moody()

    with Sending(collector, lambda seconds: False) as sending:
        assert sending.send(SPANS)
        assert sending.send([])

    assert collector.taken == [span.name for span in SPANS]


def test_why_it_is_away_is_said_once_and_when_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    collector = Moody("full", "full", "full", "gone")

    with Sending(collector, lambda seconds: False) as sending:
        assert sending.send(SPANS)

    assert collector.taken == [span.name for span in SPANS]
    assert [one.getMessage() for one in caplog.records] == [
        "the collector does not take spans, trying again: refused: full",
        "the collector does not take spans, trying again: refused: gone",
        "the collector takes spans again",
    ]


def test_the_true_reason_is_said_and_not_that_the_exporter_gave_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Refused, 503 and a hanging collector were all told by one line without a reason."""

    class Retrying(Moody):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            if self.refusals:
                why = self.refusals[0]
                for seconds in (0.93, 2.11):
                    EXPORTERS.warning(
                        "Transient error %s encountered while exporting %s batch, retrying in "
                        "%.2fs.", why, "spans", seconds,
                    )  # fmt: skip
                EXPORTERS.error("Failed to export spans batch due to timeout, max retries or ...")
                self.refusals.pop(0)
                return SpanExportResult.FAILURE
            return super().export(spans)

    with Sending(Retrying("refused", "refused", "503"), lambda seconds: False) as sending:
        assert sending.send(SPANS)

    assert [one.getMessage().rpartition(": ")[2] for one in caplog.records] == [
        "refused", "503", "the collector takes spans again",
    ]  # fmt: skip


def test_who_is_stopped_meanwhile_says_how_many_were_not_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    collector = Moody(*["full"] * 9)

    with Sending(collector, lambda seconds: True) as sending:
        assert not sending.send(SPANS)

    assert collector.taken == []
    assert caplog.records[-1].getMessage().startswith("7 spans were not taken")
