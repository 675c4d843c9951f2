from hypothesis import given
from hypothesis import strategies as st

from tests.wire.arbitrary import NO_NUL, TEXTS
from verdict.wire.headers import Headers, joined, pairs


@given(st.dictionaries(TEXTS, st.text(NO_NUL, max_size=9)))
def test_headers_survive_being_one_text(headers: Headers) -> None:
    assert pairs(joined(headers)) == list(headers.items())
