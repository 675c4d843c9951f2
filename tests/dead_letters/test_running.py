"""Both components of the retry, supervised as in a service."""

import pytest
from sqlalchemy import insert, text

from tests.dead_letters.desk import NOW, Desk, RunningRetry, until
from verdict.adapters.sql.session import TABLES
from verdict.model.source import Source
from verdict.read_side.schema.database import create_read_side
from verdict.read_side.tables.dead_letters import table
from verdict.wire.dead_letter_record import dead_letter_id


def retrying(desk: Desk, backoff: str = "fixed:1s") -> RunningRetry:
    """Return the retry as `verdict up` runs it; its clock is the real one."""
    return RunningRetry(
        desk.engine, desk.kafka, desk.topics, attempts=3, backoff=backoff, poll_s=0.01
    )


@pytest.mark.proves("R-07")
def test_it_is_ready_when_all_is_taken_in_that_was_there(desk: Desk) -> None:
    """R-07."""
    desk.put([b"%d" % n for n in range(3000)], headers={"retry_backoff": "fixed:366d"})
    running = retrying(desk)

    running.start()
    running.await_ready()
    found = len(desk.rows())
    running.stop()

    assert found == 3000


@pytest.mark.proves("R-07")
def test_when_it_cannot_take_letters_in_it_says_why_and_nothing_waits_for_it(desk: Desk) -> None:
    """R-07: what cannot be taken in must not keep commands from being decided."""
    desk.put([b"x"])
    place = Source(desk.topics.dead_letters, 0, 0)
    row = {
        "id": dead_letter_id(place), "topic": "t", "partition": 0, "offset": 0, "attempt": 0,
        "attempts": 0, "retry_topic": "t", "status": "PARKED", "headers": "[]", "received_at": NOW,
    }  # fmt: skip
    with desk.engine.begin() as connection:
        connection.execute(insert(table).values(row))
    running = retrying(desk)

    running.start()
    try:
        running.await_ready()
        [(stopped, why)] = running.failures.items()
        assert stopped == "intake of letters"
        assert "unique" in why.lower()
    finally:
        running.stop()


@pytest.mark.proves("R-01")
def test_letters_flow_through_both_threads(desk: Desk) -> None:
    """R-01: by the real clock, which is far beyond these letters."""
    running = retrying(desk)
    running.start()
    try:
        running.await_ready()
        desk.put([b"a", b"b"], at=10**12)
        until(lambda: len(desk.retries()) == 2, running.check)
        until(lambda: desk.rows() == [], running.check)
    finally:
        running.stop()


def test_a_database_that_is_created_again_is_waited_for(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """By both threads, on PostgreSQL too, where a table that is not there is no failure of it."""
    desk.put([b"a"], headers={"retry_backoff": "fixed:366d"})
    running = retrying(desk)
    running.start()
    try:
        running.await_ready()
        lose_tables(desk)
        desk.put([b"b"], headers={"retry_backoff": "fixed:366d"})
        until(lambda: len({one.getMessage() for one in caplog.records}) > 1, running.check)
        create_read_side(desk.engine, [])

        until(lambda: {row["bytes"] for row in desk.rows()} == {b"a", b"b"}, running.check)
        until(lambda: running.failures == {}, running.check)
    finally:
        running.stop()


def lose_tables(desk: Desk) -> None:
    with desk.engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"DROP SCHEMA {TABLES} CASCADE"))
            return
        found = connection.execute(
            text("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
        )
        for kind, name in found.all():
            if kind in ("table", "view"):
                connection.execute(text(f'DROP {kind} "{name}"'))
