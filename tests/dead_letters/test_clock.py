"""R-01: a clock that leaps ahead makes nothing due, one that is set back neither."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict.reactions.dead_letters.retry_components import LEAP_S, Clock

START = 1_795_300_000.0


class Times:
    """A wall clock that can be set, next to the time that really passes."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.set_by = 0.0
        self.clock = Clock(lambda: START + self.passed + self.set_by, lambda: self.passed)

    def now(self) -> float:
        return self.clock.now() / 1000 - START


@pytest.mark.proves("R-01")
@pytest.mark.parametrize(
    ("course", "seen"),
    [
        ([(10, 3600), (30, 0)], [10, 30]),  # a leap that is taken back is never seen
        ([(10, 3600), (69, 3600), (70, 3600), (71, 3600)], [10, 69, 3670, 3671]),  # one that stays
        ([(10, -3600)], [-3590]),
    ],
)
def test_a_leap_is_believed_after_a_minute(
    course: list[tuple[float, float]], seen: list[float]
) -> None:
    times = Times()
    found = []
    for times.passed, times.set_by in course:
        found.append(times.now())

    assert found == seen


@given(st.lists(st.tuples(st.floats(0, 2.9), st.floats(-5000, 5000)), max_size=20))
def test_within_a_minute_it_is_never_ahead_of_the_wall_clock_nor_of_the_time_that_passed(
    course: list[tuple[float, float]],
) -> None:
    times = Times()
    before = 0.0
    for step, times.set_by in course:
        times.passed += step
        now = times.now()

        assert now <= times.passed + times.set_by + 0.001
        assert now - before <= step + LEAP_S + 0.002
        before = now
