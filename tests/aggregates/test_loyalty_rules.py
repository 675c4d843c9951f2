import hypothesis
import pytest
from hypothesis import strategies as st

from commands.loyalty import AwardPoints
from schemas.loyalty import PointsAwarded
from tests.application import APPLICATION
from verdict.model.command import LifeCycle
from verdict.model.message import LARGEST
from verdict.testing import given


def award(number: int, points: int) -> AwardPoints:
    return AwardPoints(
        invoice_number=f"i-{number}", total_cents=50 * points, points_hundredths=points
    )


def awarded(number: int, points: int, total: int) -> PointsAwarded:
    return PointsAwarded(
        invoice_number=f"i-{number}",
        total_cents=50 * points,
        points_hundredths=points,
        total_points_hundredths=total,
    )


def test_the_first_award_opens_the_account() -> None:
    assert AwardPoints.starts_from == {LifeCycle.NONE, LifeCycle.ACTIVE}
    given(APPLICATION).when(award(1, 200)).then(awarded(1, 200, 200)).then_state(
        total_points_hundredths=200
    )


@pytest.mark.proves("P-04")
@hypothesis.given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30))
def test_the_total_of_the_nth_award_is_the_sum_of_the_first_n(points: list[int]) -> None:
    account = given(APPLICATION)
    for number, earned in enumerate(points):
        total = sum(points[: number + 1])
        account = account.when(award(number, earned)).then(awarded(number, earned, total))


def test_more_points_than_can_be_stored_are_refused() -> None:
    rich = given(APPLICATION, awarded(1, LARGEST // 50, LARGEST))
    rich.when(award(2, 1)).then_refused(
        "TOO_MANY_POINTS",
        f"1 hundredths on top of {LARGEST} are more than {LARGEST}",
        points_hundredths=1,
        total_points_hundredths=LARGEST,
    )
