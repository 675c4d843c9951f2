"""R-06: whatever is on `dead-letters` becomes a row, the same one whenever it is read."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict.model.source import Source
from verdict.reactions.dead_letters.retry_rules import (
    RetryRules,
    headers_from_json,
    headers_json,
    row_of,
)
from verdict.wire.cloud_events import DEAD_LETTER
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.dead_letter_record import DeadLetterRecord
from verdict.wire.records import decode, encode

NOW = 1_795_300_000_000
YEAR_MS = 365 * 24 * 3600 * 1000
RULES = RetryRules(
    attempts=3,
    backoff="fixed:1s",
    retry_topic="retry",
    problem_with=lambda topic: None if topic in ("retry", "mine", "order.commands") else "no",
    now=lambda: NOW,
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
LONG_KEY = encode(
    replace(decode(DeadLetter, OWN), key=b"k" * 1024, key_length=3_000_000, key_sha256=bytes(32))
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
    DeadLetterRecord,
    source=st.just(Source("dead-letters", 0, 7)),
    timestamp=st.integers(-(2**63), 2**63 - 1),
    key=st.one_of(st.none(), st.binary(max_size=5)),
    value=st.one_of(st.none(), st.binary(max_size=20), st.just(OWN)),
    headers=headers.map(tuple),
    unfit=st.none() | st.just("only its beginning is kept"),
)


def own_letter(*headers: tuple[str, bytes]) -> DeadLetterRecord:
    """Return a letter of ours, with these headers besides."""
    said = (("ce_type", DEAD_LETTER.encode()), *headers)
    return DeadLetterRecord(
        source=Source("dead-letters", 0, 7), timestamp=5, key=b"order-1", value=OWN, headers=said
    )


@pytest.mark.parametrize(
    ("header", "status"),
    [(("retry_attempt", b"1"), "WAITING"), (("retry_attempts", b"0"), "PARKED")],
)
def test_a_reaction_that_failed_keeps_its_name(header: tuple[str, bytes], status: str) -> None:
    """The event's own bytes and key, and of the letter's headers only that one."""
    letter = own_letter(("retry_topic", b"retry"), ("retry_policy", b"award_points"), header)

    row = row_of(letter, RULES)

    assert (row["status"], row["retry_topic"]) == (status, "retry")
    assert (row["bytes"], row["key"]) == (b"{}", b"order-1")
    assert headers_from_json(row["headers"]) == (("retry_policy", b"award_points"),)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (
            LONG_KEY,
            "only 1024 of 3000000 bytes of its key are kept, and no aggregate has such an id: send "
            "it again under its own id and skip this",
        ),
        (
            encode(replace(decode(DeadLetter, OWN), bytes=b"begin", length=100)),
            "only 5 of 100 bytes are kept, so it cannot be sent as it was: edit it, or send the "
            "whole command again and skip this",
        ),
    ],
    ids=["key", "value"],
)
def test_what_was_cut_is_not_sent_as_if_it_were_whole(value: bytes, error: str) -> None:
    letter = replace(own_letter(("retry_topic", b"order.commands")), key=b"k", value=value)

    row = row_of(letter, RULES)

    assert (row["status"], row["due_at"]) == ("PARKED", None)
    assert row["error"] == f"order.commands:0:1: a\\0bug; {error}"


@pytest.mark.proves("R-06")
@given(letters)
def test_every_letter_is_a_row_that_waits_or_says_why_it_does_not(letter: DeadLetterRecord) -> None:
    row = row_of(letter, RULES)

    assert row == row_of(letter, RULES)
    if row["status"] == "WAITING":
        assert letter.unfit is None
        assert NOW <= row["due_at"] <= NOW + 366 * 24 * 3600 * 1000
        assert row["attempt"] < row["attempts"]
    else:
        assert (row["status"], row["due_at"]) == ("PARKED", None)
        assert row["error"]
    assert "\0" not in (row["error"] or "") + row["headers"] + row["retry_topic"]
    assert row["bytes"] in (letter.value, b"{}")
    assert headers_from_json(headers_json(letter.headers)) == letter.headers


@pytest.mark.proves("G-04")
@pytest.mark.parametrize("stamped", [NOW, NOW + 10 * YEAR_MS, NOW - 10 * YEAR_MS, -1])
def test_a_letter_waits_from_when_it_is_taken_in_whatever_time_was_stamped_on_it(
    stamped: int,
) -> None:
    """G-04: a clock that leaps neither fires a letter early nor keeps it for years."""
    letter = DeadLetterRecord(
        source=Source("dead-letters", 0, 7), timestamp=stamped, key=b"k", value=b"v"
    )

    assert row_of(letter, RULES)["due_at"] == NOW + 1000
