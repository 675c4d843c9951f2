"""What is out of reach is tried again, loudly; a bug ends the thread, loudly."""

import logging

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import OperationalError

from tests.letters.desk import NOW, Desk, until
from verdict.errors import Unreachable, VerdictError
from verdict.letters import worker
from verdict.letters.retrying import Retrying
from verdict.letters.worker import Worker
from verdict.model.source import Source
from verdict.projection.database import create_read_side
from verdict.projection.layout import TABLES
from verdict.projection.letter import table
from verdict.wire.letter import letter_id


class Scripted:
    """A work whose steps go as they are written; afterwards it is idle."""

    def __init__(self, *steps: Exception | None) -> None:
        self.left = list(steps)
        self.resets = 0

    def step(self) -> float:
        if self.left and (error := self.left.pop(0)) is not None:
            raise error
        return 0.001

    def reset(self) -> None:
        self.resets += 1


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait before the next try."""
    monkeypatch.setattr(worker, "RETRY_S", 0.0)


def test_what_is_out_of_reach_is_tried_again_and_said(caplog: pytest.LogCaptureFixture) -> None:
    work = Scripted(
        None,
        *[Unreachable("Kafka is away")] * 3,
        OperationalError("q", {}, Exception("db gone")),
        None,
    )
    running = Worker("intake of letters", work)
    running.start()
    until(lambda: "goes on" in caplog.text, lambda: None)
    running.stop()

    assert running.failure is None
    assert work.resets == 5  # after each failure, and at the end
    assert caplog.text.count("the intake of letters waits, Kafka is away; trying again") == 1
    assert "waits, db gone; trying again" in caplog.text


@pytest.mark.parametrize("error", [VerdictError("another runner"), ZeroDivisionError("a bug")])
def test_anything_else_is_said_once_and_ends_it(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    work = Scripted(error)
    running = Worker("dispatch of letters", work)
    running.start()
    until(lambda: work.resets == 1, lambda: None)
    running.stop()

    assert running.failure == str(error)
    [said] = caplog.records
    assert (said.levelno, str(error) in said.getMessage()) == (logging.ERROR, True)


def retrying(desk: Desk, backoff: str = "fixed:1s") -> Retrying:
    """Return the retry as `verdict up` runs it; its clock is the real one."""
    return Retrying(desk.engine, desk.kafka, desk.topics, attempts=3, backoff=backoff, poll_s=0.01)


@pytest.mark.proves("R-07")
def test_it_is_ready_when_all_is_taken_in_that_was_there(desk: Desk) -> None:
    """R-07."""
    desk.put([b"%d" % n for n in range(3000)], headers={"retry_backoff": "fixed:366d"})
    running = retrying(desk)

    running.start()
    running.await_ready(lambda: None)
    found = len(desk.rows())
    running.stop()

    assert found == 3000


@pytest.mark.proves("R-07")
def test_when_it_cannot_take_letters_in_it_says_why_and_nobody_waits_for_it(desk: Desk) -> None:
    """R-07: what cannot be taken in must not keep commands from being decided."""
    desk.put([b"x"])
    place = Source(desk.topics.dead_letters, 0, 0)
    row = {
        "id": letter_id(place), "topic": "t", "partition": 0, "offset": 0, "attempt": 0,
        "attempts": 0, "retry_topic": "t", "status": "PARKED", "headers": "[]", "received_at": NOW,
    }  # fmt: skip
    with desk.engine.begin() as connection:
        connection.execute(insert(table).values(row))
    running = retrying(desk)

    running.start()
    try:
        running.await_ready(lambda: None)
        [(stopped, why)] = running.stopped.items()
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
        running.await_ready(lambda: None)
        desk.put([b"a", b"b"], at=10**12)
        until(lambda: len(desk.retries()) == 2, lambda: None)
        until(lambda: desk.rows() == [], lambda: None)
    finally:
        running.stop()


def test_a_database_that_is_made_anew_is_waited_for(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """By both threads, on PostgreSQL too, where a table that is not there is no failure of it."""
    desk.put([b"a"], headers={"retry_backoff": "fixed:366d"})
    running = retrying(desk)
    running.start()
    try:
        running.await_ready(lambda: None)
        lose_tables(desk)
        desk.put([b"b"], headers={"retry_backoff": "fixed:366d"})
        until(lambda: len({one.getMessage() for one in caplog.records}) > 1, lambda: None)
        create_read_side(desk.engine, [])

        until(lambda: {row["bytes"] for row in desk.rows()} == {b"a", b"b"}, lambda: None)
        assert running.stopped == {}
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
