"""U-05: when read models had an event, by looking at how far they are."""

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from tests.projection.event_log import AN_EVENT
from verdict.errors import Unreachable
from verdict.model.source import Source
from verdict.tracing import rows as module
from verdict.tracing.rows import Reached, Rows
from verdict.tracing.spans import Recorded, span_of_event
from verdict.wire.records import encode_event

TOPIC = "position.events"
SECOND = 10**9
TRACE = [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")]
MODELS = {TOPIC: {"order_state", "client_recent_order"}}


class Seen:
    """Read models whose positions a test moves, and a clock that it moves on."""

    def __init__(self) -> None:
        self.now = 0
        self.reached: dict[tuple[str, str, int], int] = {}
        self.away = False
        self.rows = Rows(MODELS, self._reached, lambda: self.now)

    def _reached(self) -> Reached:
        if self.away:
            raise Unreachable("the read side is away")
        return dict(self.reached)

    def waits(self, offset: int) -> None:
        place = Source(TOPIC, 1, offset)
        recorded = Recorded(place, encode_event(AN_EVENT), TRACE, self.now // 1_000_000)
        span = span_of_event(recorded, "position", Resource({}))
        assert span is not None
        self.rows.wait_for(span)

    def look(self, at_s: int, **reached: int) -> list[ReadableSpan]:
        self.now = at_s * SECOND
        self.reached |= {(model, TOPIC, 1): offset for model, offset in reached.items()}
        self.rows.look()
        return [*self.rows.passed()]


def test_a_read_model_has_an_event_once_it_was_seen_past_it() -> None:
    seen = Seen()
    assert seen.look(1) == []
    seen.waits(offset=7)

    assert seen.look(2, order_state=7) == []
    [first] = seen.look(3, order_state=8)
    [second] = seen.look(4, client_recent_order=20)
    assert seen.look(5) == []

    assert (first.name, first.start_time, first.end_time) == (
        "project order_state", 1 * SECOND, 3 * SECOND,
    )  # fmt: skip
    assert (second.name, second.end_time) == ("project client_recent_order", 4 * SECOND)


def test_what_was_seen_before_the_event_was_read_counts() -> None:
    seen = Seen()
    seen.look(1)
    seen.look(2, order_state=8)
    seen.look(3, client_recent_order=8)
    seen.now = SECOND  # when it came
    seen.waits(offset=7)

    ends = {one.name: one.end_time for one in seen.look(9)}
    assert ends == {"project order_state": 2 * SECOND, "project client_recent_order": 3 * SECOND}


def test_nobody_knows_when_what_was_there_before_the_first_look_came() -> None:
    seen = Seen()
    seen.look(1, order_state=8)
    seen.waits(offset=7)

    assert seen.look(2) == []
    [other] = seen.look(3, client_recent_order=8)
    assert other.name == "project client_recent_order"


def test_nobody_knows_when_what_came_while_nobody_could_look_came() -> None:
    seen = Seen()
    seen.look(1)
    seen.waits(offset=7)
    apart = module.APART_NS // SECOND

    assert len(seen.look(1 + apart, order_state=8)) == 1
    assert seen.look(2 + 2 * apart, client_recent_order=8) == []


def test_what_is_late_is_an_error_and_nobody_waits_for_it_any_longer() -> None:
    seen = Seen()
    seen.look(1)
    seen.waits(offset=7)
    patience = module.PATIENCE_NS // SECOND

    assert seen.look(1 + patience) == []
    late = seen.look(2 + patience, order_state=8)
    codes = {one.name: one.status.status_code for one in late}
    assert codes == {
        "project order_state": StatusCode.UNSET, "project client_recent_order": StatusCode.ERROR,
    }  # fmt: skip
    assert seen.look(3 + patience, client_recent_order=8) == []


def test_a_read_side_that_is_away_is_said_once_and_its_events_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen = Seen()
    seen.look(1)
    seen.waits(offset=7)
    seen.away = True
    assert seen.look(2) == seen.look(3 + module.PATIENCE_NS // SECOND) == []
    seen.away = False
    assert seen.look(4) == []
    assert [one.message for one in caplog.records] == [
        "no spans of rows for now: the read side is away", "spans of rows are sent again",
    ]  # fmt: skip
    assert len(seen.look(5, order_state=8, client_recent_order=8)) == 2


def test_of_too_many_that_wait_the_oldest_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 1)
    seen = Seen()
    seen.look(1)
    seen.waits(offset=7)
    seen.waits(offset=8)

    assert len(seen.look(2, order_state=9, client_recent_order=9)) == 2
