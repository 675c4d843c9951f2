import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict.mail.share import Share, bucket_of, parse_share


@given(st.text(min_size=1), st.integers(1, 50))
def test_every_client_is_in_exactly_one_share(client: str, workers: int) -> None:
    shares = [Share(number, workers) for number in range(1, workers + 1)]

    assert sum(share.has(bucket_of(client)) for share in shares) == 1


def test_a_client_is_in_the_same_share_on_every_machine() -> None:
    """Change these numbers and workers of two versions disagree about who sends what."""
    buckets = [4260250381, 2176202712, 3912678463]
    assert [bucket_of(name) for name in ("ada", "bob", "ödön")] == buckets


@given(st.integers(1, 999_999), st.integers(1, 999_999))
def test_a_share_is_written_as_it_is_read(one: int, other: int) -> None:
    share = Share(min(one, other), max(one, other))

    assert parse_share(str(share)) == share


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1/3 "])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no share such as 1/3"):
        parse_share(text)
