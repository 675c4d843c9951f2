"""R-02: how long a letter waits."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict.model.source import Source
from verdict.wire.backoff import LONGEST_S, InvalidBackoffError, back_off, wait_ms
from verdict.wire.dead_letter_record import DeadLetterRecord

pytestmark = pytest.mark.proves("R-02")

MILLIS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
durations = st.tuples(st.integers(0, 5000), st.sampled_from([*MILLIS]))
attempts = st.integers(0, 2000)


def by_size(found: DeadLetterRecord) -> float:
    """Wait for a second per byte."""
    return len(found.value or b"")


def broken(found: DeadLetterRecord) -> float:
    """Hold a bug."""
    raise KeyError("no")


DECLARED = {"by-size": by_size, "broken": broken}


def letter(attempt: int = 0, value: bytes | None = None) -> DeadLetterRecord:
    return DeadLetterRecord(
        source=Source("dead-letters", 0, 0), timestamp=0, key=None, value=value, attempt=attempt
    )


def written(duration: tuple[int, str]) -> str:
    return f"{duration[0]}{duration[1]}"


def millis(duration: tuple[int, str]) -> int:
    return duration[0] * MILLIS[duration[1]]


@given(st.lists(durations, min_size=1, max_size=5), attempts)
def test_fixed_steps_are_taken_in_turn_and_the_last_repeats(
    steps: list[tuple[int, str]], attempt: int
) -> None:
    wait = back_off(DECLARED, "fixed:" + ",".join(map(written, steps)))

    assert (
        wait_ms(wait, letter(attempt))
        == [*map(millis, steps), *[millis(steps[-1])] * 2000][attempt]
    )


@given(durations, st.integers(10, 100), durations, attempts)
def test_exponential_grows_by_the_factor_up_to_the_longest(
    first: tuple[int, str], tenths: int, longest: tuple[int, str], attempt: int
) -> None:
    wait = back_off(DECLARED, f"exponential:{written(first)},{tenths / 10},{written(longest)}")
    exact = min(millis(first) * Fraction(tenths, 10) ** attempt, Fraction(millis(longest)))

    waited = wait_ms(wait, letter(attempt))

    assert abs(waited - exact) <= 1 + exact / 10**9
    assert waited <= millis(longest)


@pytest.mark.parametrize(
    "spec",
    ["", "fixed:", "fixed:1", "fixed:1s,", "fixed:-1s", "fixed:1e3s", "fixed:nan", "fixed:٣s",
     "fixed:400d", "exponential:1s", "exponential:1s,2", "exponential:1s,0.5,1h",
     "exponential:1s,x,1h", "exponential:1s,2,1h,4", "linear:1s", "nobody-declares-this"],
)  # fmt: skip
def test_the_error_about_a_wrong_back_off_says_how_one_is_written(spec: str) -> None:
    with pytest.raises(
        InvalidBackoffError, match="366 days" if "400" in spec else "fixed:1s,10s,1m"
    ):
        back_off(DECLARED, spec)


@given(st.text(max_size=40))
def test_whatever_is_written_there_is_a_back_off_or_is_not_understood(text: str) -> None:
    for spec in (text, f"fixed:{text}", f"exponential:{text}"):
        try:
            wait = back_off(DECLARED, spec)
        except InvalidBackoffError:
            continue
        assert 0 <= wait_ms(wait, letter(7)) <= LONGEST_S * 1000


def test_an_application_may_have_a_function_of_the_letter() -> None:
    assert wait_ms(back_off(DECLARED, "by-size"), letter(value=b"12345")) == 5000
    with pytest.raises(InvalidBackoffError, match=r"failed \(KeyError: 'no'\): fix it"):
        wait_ms(back_off(DECLARED, "broken"), letter())


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), LONGEST_S + 1, "soon", None])
def test_only_a_number_of_seconds_is_a_wait(seconds: float) -> None:
    with pytest.raises(InvalidBackoffError, match="fix it, then replay"):
        wait_ms(lambda found: seconds, letter())
