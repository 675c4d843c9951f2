"""Both components of the retry, supervised as in a service."""

import pytest
from sqlalchemy import insert

from tests.dead_letters.desk import NOW, Desk, until
from verdict.model.source import Source
from verdict.read_side.tables.dead_letters import table
from verdict.wire.dead_letter_record import dead_letter_id


@pytest.mark.proves("R-07")
def test_it_is_ready_when_all_is_taken_in_that_was_there(desk: Desk) -> None:
    desk.put([b"%d" % n for n in range(3000)], headers={"retry_backoff": "fixed:366d"})

    with desk.retrying():
        found = len(desk.rows())

    assert found == 3000


@pytest.mark.proves("R-07")
def test_an_intake_that_fails_says_why_and_nothing_waits_for_it(desk: Desk) -> None:
    """What cannot be taken in must not keep commands from being decided."""
    desk.put([b"x"])
    place = Source(desk.topics.dead_letters, 0, 0)
    row = {
        "id": dead_letter_id(place), "topic": "t", "partition": 0, "offset": 0, "attempt": 0,
        "attempts": 0, "retry_topic": "t", "status": "PARKED", "headers": "[]", "received_at": NOW,
    }  # fmt: skip
    with desk.engine.begin() as connection:
        connection.execute(insert(table).values(row))

    with desk.retrying() as running:
        [(stopped, why)] = running.failures.items()

    assert stopped == "intake of letters"
    assert "unique" in why.lower()


@pytest.mark.proves("R-01")
def test_letters_flow_through_both_threads(desk: Desk) -> None:
    """By the real clock, which is far beyond these letters."""
    with desk.retrying(retry_backoff="fixed:1s") as running:
        desk.put([b"a", b"b"], at=10**12)
        until(lambda: len(desk.retries()) == 2, running.check)
        until(lambda: desk.rows() == [], running.check)
