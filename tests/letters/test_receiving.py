"""R-06: whatever is on `dead-letters` becomes a row, the same one whenever it is read."""

from hypothesis import given
from hypothesis import strategies as st

from compose.letters.headers import as_json, from_json
from compose.letters.receiving import Rules, row_of
from schemas.dead_letter import DeadLetter
from schemas.letter import Letter, Pairs
from schemas.message import END_OF_TIME
from schemas.source import Source
from schemas.wire.records import encode

RULES = Rules(
    attempts=3,
    backoff="fixed:1s",
    retry_topic="retry",
    problem_with=lambda topic: None if topic in ("retry", "mine", "order.commands") else "no",
)
OWN = encode(
    DeadLetter(
        source=Source("order.commands", 0, 1),
        error="a\0bug",
        key=b"order-1",
        bytes=b"{}",
        length=2,
        sha256=bytes(32),
        received_at=1,
    )
)
names = st.sampled_from(
    ["retry_attempt", "retry_attempts", "retry_topic", "retry_backoff", "retry_id", "ce_type"]
)
sensible = st.sampled_from(
    [b"0", b"2", b"3", b"999999999", b"mine", b"exponential:1s,9,2h", b"verdict.DeadLetter"]
)
contents = st.one_of(st.none(), st.binary(max_size=20), sensible)
headers = st.lists(st.tuples(st.one_of(names, st.text(max_size=5)), contents), max_size=6)
letters = st.builds(
    Letter,
    source=st.just(Source("dead-letters", 0, 7)),
    timestamp=st.integers(-(2**63), 2**63 - 1),
    key=st.one_of(st.none(), st.binary(max_size=5)),
    value=st.one_of(st.none(), st.binary(max_size=20), st.just(OWN)),
    headers=headers.map(tuple),
)


@given(letters)
def test_every_letter_is_a_row_that_waits_or_says_why_it_does_not(letter: Letter) -> None:
    row = row_of(letter, RULES)

    assert row == row_of(letter, RULES)
    if row["status"] == "WAITING":
        assert min(max(letter.timestamp, 0), END_OF_TIME) <= row["due_at"] <= END_OF_TIME
        assert row["attempt"] < row["attempts"]
    else:
        assert (row["status"], row["due_at"]) == ("PARKED", None)
        assert row["error"]
    assert "\0" not in (row["error"] or "") + row["headers"] + row["retry_topic"]
    assert row["bytes"] in (letter.value, b"{}")


@given(headers.map(tuple))
def test_no_header_is_lost_in_the_table(pairs: Pairs) -> None:
    assert from_json(as_json(pairs)) == pairs
