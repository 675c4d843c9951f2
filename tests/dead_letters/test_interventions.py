"""What operators do about dead letters, and what is recorded of it."""

from hashlib import sha256

import pytest
from sqlalchemy import select

from tests.dead_letters.desk import NOW, Desk, headers_of
from verdict.errors import VerdictError
from verdict.operations.repair.dead_letters import DeadLetters, StoredLetter, letter
from verdict.operations.repair.operator import OperatorIdentity
from verdict.reactions.dead_letters.retry_rules import headers_from_json
from verdict.read_side.tables.dead_letters import intervention

LATER = NOW + 12_345
ADA, BOB = OperatorIdentity("ada", "a typo"), OperatorIdentity("bob", "fixed")


@pytest.fixture
def given(desk: Desk) -> Desk:
    """Return a desk with a parked letter, and one that waits."""
    desk.put([b"bad"], headers={"retry_attempt": "3", "color": b"\xff", "none": None})
    desk.put([b"waits"])
    desk.take_in()
    return desk


def at(desk: Desk, now: int) -> DeadLetters:
    return DeadLetters(desk.engine, desk.topics, lambda: now)


def only(desk: Desk) -> StoredLetter:
    [listed] = at(desk, NOW).listed()
    return stored(desk, str(listed["id"]))


def stored(desk: Desk, id: str) -> StoredLetter:
    with desk.engine.connect() as connection:
        return letter(connection, id)


def interventions(desk: Desk) -> list[tuple[object, ...]]:
    with desk.engine.connect() as connection:
        c = intervention.c
        found = connection.execute(
            select(c.number, c.kind, c.operator, c.reason, c.at, c.sha256).order_by(c.number)
        )
        return [tuple(row) for row in found]


@pytest.mark.proves("R-02")
def test_an_edited_letter_that_is_replayed_goes_out_as_edited(given: Desk) -> None:
    """With one more attempt; who did it and why is kept."""
    found, id = only(given), only(given).id
    assert (found.bytes, found.key, found.attempt, found.attempts) == (b"bad", b"k", 3, 3)
    assert headers_from_json(found.headers) == (("color", b"\xff"), ("none", None))
    assert (found.topic, found.offset) == (given.topics.dead_letters, 0)
    assert (found.received_at, found.operator) == (NOW, None)
    at(given, LATER).edit(id, b"good", ADA)
    assert only(given).bytes == b"good"
    at(given, NOW).replay(id, BOB)
    assert (stored(given, id).status, stored(given, id).operator) == ("WAITING", "bob")
    assert [*at(given, NOW).listed()] == []

    given.now = NOW
    given.send_due()

    [retry] = given.retries()
    assert (retry.value(), retry.key()) == (b"good", b"k")
    headers = headers_of(retry)
    assert (headers["retry_attempt"], headers["color"]) == (b"4", b"\xff")
    assert interventions(given) == [
        (1, "edit", "ada", "a typo", LATER, sha256(b"bad").hexdigest()),
        (2, "replay", "bob", "fixed", NOW, sha256(b"good").hexdigest()),
    ]


def test_a_skipped_letter_leaves_its_digest(given: Desk) -> None:
    id = only(given).id
    at(given, LATER).skip(id, ADA)

    assert [*at(given, NOW).listed()] == []
    with pytest.raises(VerdictError, match="nothing waits at"):
        stored(given, id)
    digest = sha256(b"bad").hexdigest()
    assert interventions(given) == [(1, "evict", "ada", "a typo", LATER, digest)]


@pytest.mark.parametrize("act", [DeadLetters.replay, DeadLetters.skip])
def test_what_is_not_parked_is_left_alone(given: Desk, act: object) -> None:
    waiting = next(row["id"] for row in given.rows() if row["status"] == "WAITING")
    letters = at(given, NOW)
    with pytest.raises(VerdictError, match="waits for its next try, due at"):
        act(letters, waiting, ADA)  # type: ignore[operator]
    with pytest.raises(VerdictError, match="nothing waits at 'x'"):
        act(letters, "x", ADA)  # type: ignore[operator]

    assert interventions(given) == []
