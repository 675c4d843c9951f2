"""What people do to parked letters, and what is kept of it."""

from hashlib import sha256

import pytest
from sqlalchemy import Connection, select

from tests.letters.desk import NOW, Desk, headers_of
from verdict.errors import VerdictError
from verdict.reactions.dead_letters.parked import StoredLetter, edit, evict, letter, parked, replay
from verdict.read_side.tables.dead_letters import intervention

LATER = NOW + 12_345


@pytest.fixture
def given(desk: Desk) -> Desk:
    """Return a desk with a parked letter, and one that waits."""
    desk.put([b"bad"], headers={"retry_attempt": "3", "color": b"\xff", "none": None})
    desk.put([b"waits"])
    desk.take_in()
    return desk


def only(connection: Connection) -> StoredLetter:
    [found] = parked(connection)
    return found


def interventions(desk: Desk) -> list[tuple[object, ...]]:
    with desk.engine.connect() as connection:
        c = intervention.c
        found = connection.execute(
            select(c.number, c.kind, c.operator, c.reason, c.at, c.sha256).order_by(c.number)
        )
        return [tuple(row) for row in found]


def test_parked_letters_are_listed_with_all_that_is_known(given: Desk) -> None:
    with given.engine.begin() as connection:
        found = only(connection)
        assert letter(connection, found.id) == found

    assert (found.bytes, found.key, found.attempt, found.attempts) == (b"bad", b"k", 3, 3)
    assert found.headers == (("color", b"\xff"), ("none", None))
    assert (found.topic, found.offset) == (given.topics.dead_letters, 0)
    assert (found.received_at, found.operator) == (NOW, None)


@pytest.mark.proves("R-02")
def test_an_edited_letter_that_is_replayed_goes_out_as_edited(given: Desk) -> None:
    """R-02: with one more attempt; who did it and why is kept."""
    with given.engine.begin() as connection:
        found = only(connection)
        edit(connection, found.id, b"good", "ada", "a typo", lambda: LATER)
        assert only(connection).bytes == b"good"
        replay(connection, found.id, "bob", "mended", lambda: NOW)
        assert letter(connection, found.id).status == "WAITING"
        assert (letter(connection, found.id).operator, parked(connection)) == ("bob", [])

    given.now = NOW
    given.send_due()

    [retry] = given.retries()
    assert (retry.value(), retry.key()) == (b"good", b"k")
    headers = headers_of(retry)
    assert (headers["retry_attempt"], headers["color"]) == (b"4", b"\xff")
    assert interventions(given) == [
        (1, "edit", "ada", "a typo", LATER, sha256(b"bad").hexdigest()),
        (2, "replay", "bob", "mended", NOW, sha256(b"good").hexdigest()),
    ]


def test_an_evicted_letter_is_gone_but_for_its_digest(given: Desk) -> None:
    with given.engine.begin() as connection:
        found = only(connection)
        evict(connection, found.id, "ada", "nonsense", lambda: LATER)
        assert parked(connection) == []
        with pytest.raises(VerdictError, match="no letter"):
            letter(connection, found.id)

    digest = sha256(b"bad").hexdigest()
    assert interventions(given) == [(1, "evict", "ada", "nonsense", LATER, digest)]


@pytest.mark.parametrize("act", [replay, evict])
def test_what_is_not_parked_is_left_alone(given: Desk, act: object) -> None:
    waiting = next(row["id"] for row in given.rows() if row["status"] == "WAITING")
    with given.engine.begin() as connection:
        with pytest.raises(VerdictError, match="waits for its next try, due at"):
            act(connection, waiting, "ada", "because")  # type: ignore[operator]
        with pytest.raises(VerdictError, match="no letter 'x' is kept"):
            act(connection, "x", "ada", "because")  # type: ignore[operator]
        with pytest.raises(VerdictError, match="say who you are"):
            act(connection, only(connection).id, " ", None)  # type: ignore[operator]

    assert interventions(given) == []
