"""U-05: a look tells how far behind each part is, in offsets and seconds, and who stands still."""

from dataclasses import replace

import pytest

from tests.http.conftest import Looked, standing
from verdict.operations.status.sampler import StatusSample, StatusSampler
from verdict.operations.status.status import StatusReport


class Watched:
    """A sampler, its clock and what it finds."""

    def __init__(self) -> None:
        self._now, self._looked = 1000.0, Looked()
        self._sampler = StatusSampler(self._looked, lambda: self._now)

    def after(self, seconds: float, found: StatusReport) -> StatusSample:
        self._now += seconds
        self._looked.now = found
        return self._sampler.look()


def test_the_first_look_counts_what_waits_and_knows_no_speed() -> None:
    part = Watched().after(0, standing(decided=5, end=7)).parts["decider"]

    assert (part.waiting, part.seconds, part.still_s, part.rate) == (2, None, 0.0, None)


@pytest.mark.proves("U-05")
def test_a_component_that_takes_nothing_while_records_wait_makes_no_progress() -> None:
    watched = Watched()
    watched.after(0, standing(decided=7, end=7))
    watched.after(10, standing(decided=7, end=8))
    look = watched.after(41, standing(decided=7, end=1207))

    assert look.parts["decider"].still_s == 41
    assert look.problems == ("decider: no progress for 41 s while 1,200 wait",)


def test_a_component_that_takes_something_makes_progress_at_a_rate() -> None:
    watched = Watched()
    watched.after(0, standing(decided=7, end=20))
    watched.after(60, standing(decided=8, end=30))

    assert watched.after(20, standing(decided=8, end=30)).parts["decider"].still_s == 20
    look = watched.after(20, standing(decided=108, end=208))
    assert (look.problems, look.parts["decider"].rate) == ((), 5)


@pytest.mark.proves("U-05")
def test_seconds_are_since_the_end_was_where_the_part_is_now() -> None:
    watched = Watched()
    watched.after(0, standing(reached=10, lag=0))
    watched.after(5, standing(reached=10, lag=10))
    watched.after(5, standing(reached=12, lag=18))
    look = watched.after(5, standing(reached=20, lag=10))

    assert look.parts["outcome"].seconds == 10
    assert watched.after(5, standing(reached=30)).parts["outcome"].seconds == 0


def test_requests_within_a_second_get_the_same_status() -> None:
    watched = Watched()
    first = watched.after(0, standing(decided=1))

    assert watched.after(0.5, standing(decided=2)) is first
    assert watched.after(0.5, standing(decided=2)) is not first


def test_what_is_unknown_stays_unknown() -> None:
    watched = Watched()
    unknown = replace(
        standing(), commands=None, processors=None, dead_letters=None, projections=None
    )

    assert watched.after(0, unknown).parts == {}
    assert watched.after(9, standing(decided=5, end=9)).parts["decider"].seconds is None
