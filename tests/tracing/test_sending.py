"""U-05: spans go to a collector few at a time, and why it does not take them is known."""

from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from verdict.operations.tracing import sending as module
from verdict.operations.tracing.sending import EXPORTERS, CollectorError, export

SPANS = [ReadableSpan(str(number)) for number in range(7)]


class Moody:
    """A collector that takes no more than three at once, and refuses some times, saying why."""

    def __init__(self, *refusals: str) -> None:
        self.refusals = [*refusals]
        self.taken: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.refusals:
            self.explain(self.refusals.pop(0))
            return SpanExportResult.FAILURE
        if len(spans) > 3:
            return SpanExportResult.FAILURE
        self.taken += [span.name for span in spans]
        return SpanExportResult.SUCCESS

    def explain(self, why: str) -> None:
        EXPORTERS.error("refused: %s", why)


class Persistent(Moody):
    """A collector whose exporter tries again by itself before it gives up."""

    def explain(self, why: str) -> None:
        for seconds in (0.93, 2.11):
            EXPORTERS.warning(
                "Transient error %s encountered while exporting %s batch, retrying in %.2fs.",
                why, "spans", seconds,
            )  # fmt: skip
        EXPORTERS.error("Failed to export spans batch due to timeout, max retries or ...")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 3)


def test_many_go_in_requests_of_a_size_that_is_taken_in_their_order() -> None:
    """A read side that was away gave a request of 60 MB, which was refused each time."""
    collector = Moody()

    export(collector, SPANS)
    export(collector, [])

    assert collector.taken == [span.name for span in SPANS]


@pytest.mark.parametrize(
    ("collector", "reason"),
    [(Moody("full"), "refused: full"), (Persistent("503"), "503")],
    ids=["at once", "after tries of its own"],
)
def test_the_true_reason_is_raised_and_not_that_the_exporter_gave_up(
    collector: Moody, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(CollectorError) as raised:
        export(collector, SPANS)

    assert str(raised.value) == f"the collector does not take spans: {reason}"
    assert caplog.records == []
    assert EXPORTERS.handlers == []
