"""Letters in and out, on a real Kafka, SQLite and PostgreSQL."""

from collections import Counter
from random import Random

import pytest
from confluent_kafka import Producer
from sqlalchemy import update

from tests.dead_letters.desk import NOW, Desk, Given, headers_of, until
from tests.tiers import examples
from tests.topics import grow
from verdict.adapters.kafka.reader import KafkaLog
from verdict.model.source import Source
from verdict.reactions.dead_letters import consume as intake
from verdict.reactions.dead_letters.publish import LETTERS
from verdict.reactions.dead_letters.queue import due_retries, remove
from verdict.read_side.tables import position
from verdict.read_side.tables.dead_letters import table
from verdict.read_side.tables.position import ConcurrentProjectionError
from verdict.read_side.tables.row_states import FOLLOWER
from verdict.streaming.exactly_once.failpoints import Failpoint
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.cloud_events import dead_letter_headers
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import encode


@pytest.mark.proves("R-01", "R-03")
def test_a_letter_goes_where_it_says_when_it_is_due_with_one_attempt_more(desk: Desk) -> None:
    """R-01, R-04: key, value and other headers as they were, once; the table is empty again."""
    there = f"{desk.topics.prefix}mine"
    desk.create(there)
    mine: Given = {"color": "blue", "raw": b"\xff\x00", "none": None, "retry_topic": there}
    desk.put([b"\x00\xfe body"], key=b"\x01\xff", headers=mine)
    desk.take_in()
    [row] = desk.rows()
    desk.now = NOW + 999

    desk.send_due()
    early = desk.retries(there)
    for desk.now in (NOW + 1000, NOW - 10**8, NOW + 10**8):  # R-03: as a clock is set
        desk.send_due()

    assert early == desk.retries() == []
    [retry] = desk.retries(there)
    assert (retry.key(), retry.value()) == (b"\x01\xff", b"\x00\xfe body")
    assert headers_of(retry) == {
        "color": b"blue",
        "raw": b"\xff\x00",
        "none": None,
        "retry_attempt": b"1",
        "retry_attempts": b"3",
        "retry_topic": there.encode(),
        "retry_id": row["id"].encode(),
    }
    assert desk.rows() == []


@pytest.mark.proves("R-01", "R-02")
def test_each_pass_adds_one_and_the_last_parks(desk: Desk) -> None:
    """R-01 and R-02: a service that puts back what it got, with its headers, is tried 3 times."""
    desk.put([b"x"], headers={"retry_backoff": "fixed:1s,10s,1m"})
    waits, passes = [], []
    for made in range(1, 4):
        desk.take_in()
        [row] = desk.rows()
        waits.append(row["due_at"] - row["received_at"])
        desk.now = row["due_at"]
        desk.send_due()
        retry = next(m for m in desk.retries() if headers_of(m)["retry_attempt"] == b"%d" % made)
        passes.append(headers_of(retry)["retry_id"])
        desk.put([retry.value()], at=desk.now, headers=dict(headers_of(retry)))
    desk.take_in()
    desk.now += 10**9
    desk.send_due()

    assert waits == [1_000, 10_000, 60_000]
    assert len(set(passes)) == 3  # a pass is not a repetition of the one before
    assert len(desk.retries()) == 3
    [row] = desk.rows()
    assert (row["status"], row["attempt"], row["due_at"]) == ("PARKED", 3, None)
    assert row["error"] == "3 of 3 retries failed"


@pytest.mark.proves("R-03")
def test_letters_overtake_each_other_by_due_time(desk: Desk) -> None:
    """R-03: what came last is due first."""
    for value, wait in ((b"slow", "3s"), (b"middle", "2s"), (b"quick", "1s")):
        desk.put([value], key=None, headers={"retry_backoff": f"fixed:{wait}"})
    desk.take_in()
    seen = []

    for desk.now in (NOW + 1000, NOW + 2000, NOW + 3000):
        desk.send_due()
        seen.append({m.value() for m in desk.retries()})

    assert seen == [{b"quick"}, {b"quick", b"middle"}, {b"quick", b"middle", b"slow"}]


@pytest.mark.proves("R-03")
def test_letters_of_one_key_that_are_due_together_go_in_the_order_of_their_places(
    desk: Desk,
) -> None:
    """G-04: whatever times were stamped on them."""
    for number in range(20):
        desk.put([b"%02d" % number], at=NOW - number * 10**6)
    desk.take_in()
    desk.now = NOW + 1000

    desk.send_due()

    assert [m.value() for m in desk.retries()] == [b"%02d" % number for number in range(20)]


@pytest.mark.proves("R-03", "R-04", "R-08")
def test_a_backlog_much_larger_than_a_batch_that_is_due_at_once_drains(desk: Desk) -> None:
    """R-03, R-04, R-08: each once, none left."""
    letters = examples(50) * LETTERS
    desk.put(b"%d" % number for number in range(letters))
    desk.take_in()
    assert {row["due_at"] for row in desk.rows()} == {NOW + 1000}
    desk.now = NOW + 1000

    desk.send_due()

    sent = Counter(m.value() for m in desk.retries())
    assert len(sent) == sent.total() == letters
    assert desk.rows() == []


@pytest.mark.proves("R-08")
def test_a_batch_is_bounded_by_its_bytes_too(desk: Desk) -> None:
    """R-08: however large letters are, 16 MiB of them are in memory at most."""
    desk.put([bytes(800_000)] * 24)
    desk.take_in()

    with desk.engine.begin() as connection:
        batch = due_retries(connection, NOW + 1000, 1000)
        assert len(batch) == 20
        remove(connection, batch)
        assert len(due_retries(connection, NOW + 1000, 1000)) == 4


@pytest.mark.proves("R-05")
def test_letters_are_taken_in_once_however_often_it_begins_again(desk: Desk) -> None:
    """R-05: the position moves in the transaction of the letters."""
    for number in range(3):
        desk.put([b"%d-%d" % (number, one) for one in range(10)])
        desk.take_in()
        desk.take_in()
    desk.now = NOW + 1000
    desk.send_due()
    desk.take_in()

    assert len(desk.retries()) == 30
    assert desk.rows() == []


@pytest.mark.proves("R-05")
def test_a_second_intake_takes_nothing_in_twice(desk: Desk) -> None:
    """R-05: it loses against the position that it loaded, and stops."""
    first, second = desk.intake(), desk.intake()
    try:
        first.step()
        second.step()
        desk.put([b"x", b"y"])
        until(lambda: len(desk.rows()) == 2, first.step)

        with pytest.raises(ConcurrentProjectionError, match="dead-letters"):
            until(lambda: False, second.step)
    finally:
        first.reset()
        second.reset()
    assert [row["bytes"] for row in desk.rows()] == [b"x", b"y"]


class CrashError(Exception):
    """The process ended here."""


@pytest.mark.proves("R-05")
@pytest.mark.parametrize("step", [Failpoint.LETTERS_CLAIMED, Failpoint.LETTERS_SENT])
def test_a_crash_before_the_table_knows_loses_nothing_and_repeats_the_same_ids(
    desk: Desk, step: Failpoint
) -> None:
    """R-05."""
    desk.put([b"%d" % number for number in range(10)])
    desk.take_in()
    ids = {row["bytes"]: row["id"].encode() for row in desk.rows()}
    desk.now = NOW + 1000

    def crash(reached: Failpoint) -> None:
        if reached is step:
            raise CrashError

    with pytest.raises(CrashError):
        desk.send_due(crash)
    assert len(desk.rows()) == 10
    desk.send_due()

    sent = [(m.value(), headers_of(m)["retry_id"]) for m in desk.retries()]
    times = 2 if step is Failpoint.LETTERS_SENT else 1
    assert Counter(sent) == dict.fromkeys(ids.items(), times)
    assert desk.rows() == []


MISLEADING: dict[str, tuple[Given, str]] = {
    "attempt-no-number": ({"retry_attempt": "two"}, "retry_attempt is 'two'"),
    "attempt-negative": ({"retry_attempt": "-1"}, "must be a whole number"),
    "attempt-not-text": ({"retry_attempt": b"\xff"}, "no text in UTF-8"),
    "attempts-too-many": ({"retry_attempts": "9" * 40}, "must be a whole number"),
    "unknown-backoff": ({"retry_backoff": "sometimes"}, "a name among the `backoffs`"),
    "backoff-without-unit": ({"retry_backoff": "fixed:10"}, "units ms, s"),
    "no-such-topic": ({"retry_topic": "nowhere"}, "there is no such topic"),
    "topic-with-nul": ({"retry_topic": b"a\x00b"}, "there is no such topic"),
    "topic-of-kafka": ({"retry_topic": "__consumer_offsets"}, "never take dead letters"),
    "garbage-of-verdict": ({"ce_type": "verdict.DeadLetter", "retry_attempt": "x"}, "must be"),
}


@pytest.mark.proves("R-06")
def test_what_cannot_be_understood_is_parked_and_the_stream_goes_on(desk: Desk) -> None:
    """R-06: with its raw bytes, and an error that says what to do."""
    for name, (headers, _) in MISLEADING.items():
        desk.put([name.encode()], key=b"\xff", headers=headers)
    desk.put([None], key=None, headers={"retry_topic": desk.topics.progress})
    desk.put([b"sound"])
    desk.take_in()
    desk.now = NOW + 10**9
    desk.send_due()

    assert [m.value() for m in desk.retries()] == [b"sound"]
    rows = {row["bytes"]: row for row in desk.rows()}
    assert {row["status"] for row in rows.values()} == {"PARKED"}
    assert len(rows) == len(MISLEADING) + 1
    for name, (_, said) in MISLEADING.items():
        assert said in rows[name.encode()]["error"], name
        assert rows[name.encode()]["key"] == b"\xff"
    assert "never take dead letters" in rows[None]["error"]


@pytest.mark.proves("R-06")
def test_a_record_that_its_topic_refuses_is_parked_and_the_others_go(desk: Desk) -> None:
    """R-06: the batch goes one by one then; so is one whose topic is gone meanwhile."""
    small = f"{desk.topics.prefix}small"
    desk.create(small, max_message_bytes="1000")
    desk.put([b"gone"])
    desk.take_in()
    with desk.engine.begin() as connection:
        connection.execute(update(table).values(retry_topic="gone"))
    desk.put([b"%d" % number for number in range(5)])
    desk.put(
        [Random(1).randbytes(5000)], headers={"retry_topic": small, "retry_backoff": "fixed:1s"}
    )
    desk.put([b"%d" % number for number in range(5, 10)])
    desk.take_in()
    desk.now = NOW + 1000

    desk.send_due()

    assert sorted(m.value() or b"" for m in desk.retries()) == [b"%d" % n for n in range(10)]
    assert desk.retries(small) == []
    errors = {row["retry_topic"]: row["error"] for row in desk.rows() if row["status"] == "PARKED"}
    assert len(desk.rows()) == len(errors) == 2
    assert f"Kafka does not take it on {small!r}" in errors[small]
    assert "it cannot go to 'gone'" in errors["gone"]


@pytest.mark.proves("R-06")
def test_of_the_decider_s_letters_bugs_go_back_and_garbage_is_parked(desk: Desk) -> None:
    """C-10, R-06: what goes back is the command's own bytes, under its own key."""
    topic = desk.topics.commands("order")
    for number, attempt in enumerate((0, 1, 3, None)):
        letter = DeadLetter(
            source=Source(topic, 0, number),
            error=f"e{number}",
            key=b"order-1",
            bytes=b"{%d" % number,
            length=2,
            sha256=bytes(32),
            received_at=NOW,
        )
        headers: Given = {**dead_letter_headers(letter, attempt)}
        desk.put([encode(letter)], key=b"order-1", headers=headers)
    desk.take_in()
    desk.now = NOW + 1000

    desk.send_due()

    sent = {m.value(): m for m in desk.retries(topic)}
    assert {*sent} == {b"{0", b"{1"}
    assert {m.key() for m in sent.values()} == {b"order-1"}
    assert headers_of(sent[b"{1"])["retry_attempt"] == b"2"
    assert [(row["bytes"], row["status"]) for row in desk.rows()] == [
        (b"{2", "PARKED"),
        (b"{3", "PARKED"),
    ]
    errors = [row["error"].partition(":e")[0].rpartition("; ")[2] for row in desk.rows()]
    assert errors == ["3 of 3 retries failed", "it is not to be tried again by itself"]
    assert all(f"{topic}:0:{n}: e{n}" in desk.rows()[n - 2]["error"] for n in (2, 3))


def test_nothing_seems_to_be_left_behind_the_letters_of_a_transaction(desk: Desk) -> None:
    """A transaction's mark takes an offset, too, and aborted letters are none."""
    name = desk.topics.dead_letters
    transactions = Transactions(desk.kafka, f"{desk.topics.prefix}decider")
    for value in (b"x", b"never"):
        transactions.begin()
        transactions.produce(name, b"k", value)
        transactions.flush()
        transactions.commit() if value == b"x" else transactions.abandon()
    transactions.close()

    desk.take_in()

    with KafkaLog(desk.kafka.settings, 60) as log:
        kept = log.bounds(log.places([name]))
    with desk.engine.connect() as connection:
        reached = position.load(connection, FOLLOWER)
    assert len(desk.rows()) == 1
    assert reached == {place: span.end for place, span in kept.items() if span.end}


def test_letters_on_an_added_partition_are_taken_in_by_a_running_service(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any service may put its letters there."""
    monkeypatch.setattr(intake, "OPEN_S", 0.0)
    desk.put([b"before"])
    running = desk.intake()
    until(lambda: len(desk.rows()) == 1, running.step)
    grow(str(desk.kafka.settings["bootstrap.servers"]), desk.topics.dead_letters, 3)
    producer = Producer(dict(desk.kafka.settings))
    producer.produce(desk.topics.dead_letters, b"added", b"k", 2)
    assert producer.flush(60) == 0

    until(lambda: len(desk.rows()) == 2, running.step)
    running.reset()

    assert [(row["partition"], row["bytes"]) for row in desk.rows()] == [
        (2, b"added"),
        (0, b"before"),
    ]
