import logging

import pytest

from verdict.database.sqlite_file import AnotherFile
from verdict.errors import Unreachable, VerdictError
from verdict.read_models import read_side
from verdict.read_models.read_side import ReadSide


class Failing:
    """Projections that end with an error at their first check; counts their lives."""

    def __init__(self, *endings: Exception | None, unsaid: Exception | None = None) -> None:
        self._endings = list(endings)
        self._unsaid = unsaid
        self.starts = self.stops = 0

    def start(self) -> "Failing":
        self.starts += 1
        return self

    def check(self) -> None:
        if (ending := self._endings.pop(0)) is not None:
            raise ending

    def stop(self) -> None:
        self.stops += 1

    def park(self, error: Exception) -> None:
        if self._unsaid is not None:
            raise self._unsaid
        self.parked = error


def test_projections_are_started_again_when_their_database_was_out_of_reach(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(read_side, "RETRY_S", 0)
    projections = Failing(None, Unreachable("the database failed"), None)
    side = ReadSide(projections.start)  # type: ignore[arg-type]

    for _ in range(4):
        side.check()

    assert (projections.starts, projections.stops) == (2, 1)
    assert "commands are decided meanwhile" in caplog.text


@pytest.mark.proves("F-11")
@pytest.mark.parametrize("ending", [VerdictError("tampering"), ZeroDivisionError("a bug")])
def test_anything_else_is_said_once_and_stops_the_projections_only(
    ending: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    projections = Failing(ending)
    side = ReadSide(projections.start)  # type: ignore[arg-type]

    side.check()
    side.check()

    assert (projections.starts, projections.stops) == (1, 1)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert str(ending) in caplog.text
    assert projections.parked is ending
    assert side.stopped == {"projections": str(ending)}


@pytest.mark.proves("F-21")
def test_a_database_file_that_is_another_stops_the_projections_only_and_nothing_is_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gone = AnotherFile("the database file was removed")
    projections = Failing(gone, unsaid=gone)
    side = ReadSide(projections.start)  # type: ignore[arg-type]

    side.check()
    side.check()

    assert (projections.starts, projections.stops) == (1, 1)
    assert [record.exc_info for record in caplog.records] == [None]
    assert side.stopped == {"projections": str(gone)}
