from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.outbound.weekly_mail.week import Week, last_week, parse_week
from verdict.errors import VerdictError

DAYS = st.dates(date(1, 1, 8), date(9999, 12, 20))


@pytest.mark.proves("H-10")
@given(DAYS)
def test_a_day_lies_between_the_cut_offs_of_the_week_before_and_of_its_own(day: date) -> None:
    """The calendar of the C library is the oracle: %G, %V and %u."""
    week = parse_week(f"{day.isocalendar().year:04}-W{day.strftime('%V')}")
    monday = day - timedelta(days=int(day.strftime("%u")) - 1)

    cut_off = (monday - date(1970, 1, 1)).days * 86_400_000 + 7 * 86_400_000
    assert week.cut_off == cut_off


@given(DAYS)
def test_the_last_week_is_the_newest_that_is_over(day: date) -> None:
    now = (day - date(1970, 1, 1)).days * 86_400_000
    week = last_week(now)

    week.require_over(now)
    assert week.cut_off <= now < week.cut_off + 7 * 86_400_000
    assert last_week(week.cut_off - 1) < week


def test_a_week_is_over_at_its_cut_off_and_not_a_millisecond_before() -> None:
    week = Week(2026, 47)

    week.require_over(week.cut_off)
    with pytest.raises(
        VerdictError,
        match=r"2026-W47 is not over: its cut-off is 2026-11-23T00:00:00\.000Z, and it is ",
    ) as refusal:
        week.require_over(week.cut_off - 1)
    assert "2026-11-22T23:59:59.999Z now" in str(refusal.value)
    assert refusal.value.exit_code == 1


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-47", "2026W47", "2026-W7", "2026-W00", "2026-W54", "2025-W53", "0000-W01",
        "9999-W52", " 2026-W47", "2026-W47\n", "٢٠٢٦-W47",
    ],
)  # fmt: skip
def test_what_is_no_week_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="week"):
        parse_week(text)
