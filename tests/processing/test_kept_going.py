import logging

import pytest

from verdict.errors import BeginAgain, Unreachable, VerdictError
from verdict.processing.kept_going import KeptGoing


class Failing:
    """One of which each start and check ends as it was told; counts its lives."""

    def __init__(self, *endings: Exception | None) -> None:
        self._endings = list(endings)
        self.starts = self.stops = 0

    def start(self) -> None:
        self.starts += 1
        self.check()

    def check(self) -> None:
        if self._endings and (ending := self._endings.pop(0)) is not None:
            raise ending

    def stop(self) -> None:
        self.stops += 1

    def over(self, error: Exception) -> None:
        assert self.stops == self.starts
        self.why = error


def kept(*endings: Exception | None) -> tuple[KeptGoing, Failing]:
    processor = Failing(*endings)
    going = KeptGoing(name="lake", runs=processor, retry_s=0, over=processor.over)
    going.start()
    return going, processor


def test_what_goes_on_failing_is_said_once_for_each_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    away = [Unreachable("away")] * 3
    going, _ = kept(*away, Unreachable("locked"), None, Unreachable("away"))
    for _ in range(5):
        going.check()

    said = [one.getMessage().rpartition(": ")[2] for one in caplog.records]
    assert said == ["away", "locked", "the lake started again", "away"]


@pytest.mark.proves("C-11", "F-11")
def test_a_processor_that_meets_a_bug_is_stopped_and_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """G-02: it never ends the decider."""
    bug = ZeroDivisionError("a bug")
    going, processor = kept(None, bug)

    for _ in range(3):
        going.check()

    assert going.why == "a bug"
    assert (processor.starts, processor.stops) == (1, 1)
    [said] = caplog.records
    assert said.getMessage() == (
        "the lake stopped, commands are decided on; start again once it is mended: a bug"
    )
    assert said.exc_info is not None
    assert processor.why is bug


def test_a_bug_that_only_follows_from_a_death_is_not_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def died() -> None:
        raise VerdictError("the JVM of Spark ended with -9")

    processor = Failing(None, ConnectionRefusedError("Connection refused"))
    going = KeptGoing(name="lake", runs=processor, look_behind=died)
    going.start()

    with pytest.raises(VerdictError, match="the JVM of Spark ended with -9"):
        going.check()

    assert not caplog.records
    assert going.why is None


def test_what_a_person_can_act_on_is_said_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    going, processor = kept(VerdictError("the folder is gone: bring it back"))

    assert going.why == "the folder is gone: bring it back"
    assert [record.exc_info for record in caplog.records] == [None]
    assert processor.stops == 1


def test_it_is_started_again_when_kafka_was_out_of_reach(caplog: pytest.LogCaptureFixture) -> None:
    going, processor = kept(None, Unreachable("no answer"), Unreachable("still none"), None)

    said = []
    for _ in range(3):
        going.check()
        said.append(going.why)

    assert said == ["no answer", "still none", None]
    assert (processor.starts, processor.stops) == (3, 2)
    assert [record.levelno for record in caplog.records] == [
        logging.ERROR, logging.ERROR, logging.WARNING,
    ]  # fmt: skip
    assert caplog.messages[-1] == "the lake started again"


def test_it_begins_again_at_once_with_what_people_decided(
    caplog: pytest.LogCaptureFixture,
) -> None:
    going, processor = kept(None, BeginAgain("o-1 is passed over"), None)

    going.check()

    assert going.why is None
    assert (processor.starts, processor.stops) == (2, 1)
    assert caplog.messages == [
        "o-1 is passed over: the lake begin again with what people decided",
        "the lake started again",
    ]


def test_what_is_heeded_in_vain_needs_a_person() -> None:
    going, processor = kept(None, BeginAgain("v2 is live"), VerdictError("v2 is not configured"))

    going.check()

    assert going.why == "v2 is not configured"
    assert (processor.starts, processor.stops) == (2, 2)


def test_it_is_ended_at_the_end() -> None:
    going, processor = kept()

    going.stop()

    assert processor.stops == 1


def test_what_ends_the_only_one_for_good_ends_its_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A passing failure does not."""
    bug = ZeroDivisionError("a bug")
    processor = Failing(None, Unreachable("no answer"), None, bug)
    going = KeptGoing(name="lake", runs=processor, retry_s=0, over=processor.over, alone=True)
    going.start()

    for _ in range(2):
        going.check()
    assert going.stopped == {}
    with pytest.raises(ZeroDivisionError):
        going.check()

    assert processor.why is bug
    assert "a bug" not in caplog.text  # who ends the process says it


@pytest.mark.parametrize(("alone", "must_begin"), [(True, False), (False, True)])
def test_a_start_that_fails_is_for_who_starts_it(alone: bool, must_begin: bool) -> None:
    fails = Failing(Unreachable("no answer"))
    going = KeptGoing(name="lake", runs=fails, alone=alone, must_begin=must_begin)

    with pytest.raises(Unreachable):
        going.start()


def test_nothing_is_tried_while_kafka_is_away() -> None:
    processor = Failing(None, ZeroDivisionError("not asked"))
    going = KeptGoing(name="lake", runs=processor, reachable=lambda: False)
    going.start()

    going.check()

    assert going.stopped == {}
