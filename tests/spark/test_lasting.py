"""A query that outlives what passes: when it is begun again, and when it is not."""

from types import SimpleNamespace

import pytest

from verdict.errors import Late, Unreachable, VerdictError
from verdict.spark import lasting as module
from verdict.spark.lasting import LATE_AT_MOST, Lasting


class Query:
    """Ends by itself each time that it is begun, with an error of the list."""

    def __init__(self, *endings: Exception | None) -> None:
        self._endings = [*endings]
        self.begun = 0
        self.is_there = True
        self.done = 0
        self.undone = False

    def begin(self) -> None:
        self.begun += 1

    def check(self) -> None:
        if self.begun and (ending := self._endings[self.begun - 1]) is not None:
            raise ending

    def lasting(self) -> Lasting:
        self.begin()
        return Lasting("decider", self, self.begin, lambda: self.is_there)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AGAIN_S", 0)


def test_it_waits_while_kafka_is_away_and_goes_on_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    query = Query(Unreachable("Kafka did not answer"), None)
    lasting = query.lasting()

    query.is_there = False
    for _ in range(5):
        lasting.check()
    assert query.begun == 1
    query.is_there = True
    lasting.check()
    lasting.check()

    assert query.begun == 2
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "the decider waits, and goes on as soon as it can: Kafka did not answer",
        "the decider goes on",
    ]


@pytest.mark.proves("F-06")
def test_what_is_late_again_and_again_ends_it() -> None:
    query = Query(*[Late("no worker")] * (LATE_AT_MOST + 1))
    lasting = query.lasting()

    for _ in range(2 * LATE_AT_MOST):  # it ends, is begun again
        lasting.check()
    with pytest.raises(Late):
        lasting.check()
    assert query.begun == LATE_AT_MOST + 1


@pytest.mark.proves("F-06")
def test_what_is_late_is_tried_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has too much to do is not given more; nor does the service end at once."""
    query = Query(*[Late("no worker")] * LATE_AT_MOST, None)
    clock = SimpleNamespace(now=0)
    monkeypatch.setattr(module, "AGAIN_S", 1)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    lasting, begun_at = query.lasting(), []

    for clock.now in range(100):
        begun = query.begun
        lasting.check()
        begun_at += [clock.now] * (query.begun - begun)

    assert begun_at == [1, 1 + 1 + 4, 6 + 1 + 16, 23 + 1 + 64]


def test_a_batch_that_was_done_makes_good_for_those_that_were_late() -> None:
    query = Query(*[Late("no worker")] * 3 * LATE_AT_MOST, None)
    lasting = query.lasting()

    for _ in range(6 * LATE_AT_MOST):
        lasting.check()
        query.done += 1

    assert query.begun == 3 * LATE_AT_MOST + 1


def test_a_batch_that_fails_is_what_it_waits_for_until_it_is_done() -> None:
    """Kafka may answer, and yet take no transaction: that it is begun again helps nobody."""
    query = Query(*[Unreachable("too few replicas are in sync")] * 3, None)
    lasting = query.lasting()

    query.undone = True
    for _ in range(3):
        lasting.check()
        assert lasting.waits == "too few replicas are in sync"
        lasting.check()
        assert lasting.waits == "too few replicas are in sync"

    query.done, query.undone = 1, False
    assert lasting.waits is None


def test_what_ended_it_between_batches_has_passed_when_it_runs_again() -> None:
    query = Query(Unreachable("Kafka did not answer"), None)
    lasting = query.lasting()

    lasting.check()
    assert lasting.waits == "Kafka did not answer"
    lasting.check()
    assert lasting.waits is None


@pytest.mark.parametrize("ending", [VerdictError("taken over"), ZeroDivisionError("a bug")])
def test_anything_else_ends_it(ending: Exception) -> None:
    query = Query(ending)
    lasting = query.lasting()

    with pytest.raises(type(ending)):
        lasting.check()


def test_what_hinders_its_beginning_passes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether somebody has taken over is asked before, of a Kafka that may be away again."""
    query = Query(Late("a worker has ended"), None)
    lasting = query.lasting()
    lasting.check()
    begin = query.begin
    monkeypatch.setattr(lasting, "_begin", _unreachable)
    lasting.check()
    assert lasting.waits == "Kafka did not answer"
    monkeypatch.setattr(lasting, "_begin", begin)
    lasting.check()
    lasting.check()


def _unreachable() -> None:
    raise Unreachable("Kafka did not answer")
