"""U-05: it is known why a collector does not take spans."""

from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from verdict.operations.tracing.follower import EXPORTERS, CollectorError, export

TRANSIENT = "Transient error 503 encountered while exporting spans batch, retrying in 0.93s."


class Refusing:
    """A collector whose exporter logs some lines, and fails."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for line in self.lines:
            EXPORTERS.warning(line)
        return SpanExportResult.FAILURE


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("refused: full",), "refused: full"),
        ((TRANSIENT, TRANSIENT, "Failed to export spans batch due to timeout, ..."), "503"),
    ],
    ids=["at once", "after tries of its own"],
)
def test_the_true_reason_is_raised_and_not_that_the_exporter_gave_up(
    lines: tuple[str, ...], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(CollectorError) as raised:
        export(Refusing(*lines), [ReadableSpan("one")])

    assert str(raised.value) == f"the collector does not take spans: {reason}"
    assert caplog.records == []
    assert EXPORTERS.handlers == []
