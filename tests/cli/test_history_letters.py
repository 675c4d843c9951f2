"""`verdict history` of commands that ended without a verdict, or of which nothing tells how."""

from collections.abc import Iterable, Iterator

import pytest
from confluent_kafka import Producer

from tests.audit.books import PLACE, Books
from tests.cli.conftest import Run
from verdict.decision.received import arrived, dead_letter
from verdict.event_log.decisions import write_decisions
from verdict.event_log.passing import Passed, Plan, letters
from verdict.exactly_once.query import NAME
from verdict.kafka.access import kafka_of
from verdict.local.broker import EmbeddedBroker
from verdict.model.source import Source
from verdict.operator.output import Output
from verdict.wire.decision import Decision
from verdict.wire.records import encode

UNREADABLE = (b"{", b"", None, b"\x8b\x00random", b'{"aggregate_id": "raw-\xff"}', b'{"topic": []}')


@pytest.fixture(scope="module")
def books(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Books]:
    """Return a deployment in which nothing was asked yet."""
    books = Books(broker, "ends", tmp_path_factory.mktemp("ends") / "data")
    yield books
    books.close()


def send(books: Books, name: str, *values: bytes | None) -> Source:
    """Send records under a key; return where the first of them lies."""
    topic, number = books.topics.commands("order"), books.partition(name)
    place = Source(topic, number, books.bounds(topic)[number][1])
    books.produce(books.at(topic, name, value) for value in values)
    return place


def without_letters(outputs: Iterable[Output]) -> list[Output]:
    return [one for one in outputs if not one.topic.endswith("dead-letters")]


@pytest.mark.proves("C-01")
@pytest.mark.proves("G-07")
def test_a_dead_letter_is_how_a_command_ended(history: Run, books: Books) -> None:
    first = send(books, "raw", *UNREADABLE)
    books.ask("order", "raw", PLACE)
    books.settle()
    send(books, "raw", b"}")

    found, shown = history("raw", "--json"), " ".join(history("raw").stdout.split())

    assert found.exit_code == 0, found.stderr
    answered, *dead, waiting = found.lines
    assert (answered["response"]["status"], answered["letter"]) == ("ACCEPTED", None)
    assert [one["letter"]["source"]["offset"] - first.offset for one in dead] == [0, 1, 2, 3, 4, 5]
    assert [one["response"] for one in dead] == [None] * 6
    assert (waiting["letter"], waiting["decided"]) == (None, False)
    letter = dead[2]["letter"]
    kept = f"{letter['topic']}:{letter['partition']}:{letter['offset']}"
    place = f"{first.topic}:{first.partition}:{first.offset + 2}"
    assert f"dead letter: record has no value {place}, kept at {kept}" in shown
    assert shown.count("dead letter: ") == 6
    assert shown.count("no verdict (yet)") == 1


@pytest.mark.proves("G-07")
def test_a_letter_outlives_its_command_and_letters_of_others_are_not_told(
    history: Run, books: Books
) -> None:
    name = "é" * 256
    gone = send(books, name, b"{")
    books.settle()
    books.drop(gone.topic, gone.partition, gone.offset + 1)
    key, topic = name.encode(), books.topics.dead_letters
    longer = dead_letter(arrived(gone, 1, key * 2 + b"more", b"{", 10), "has another key")
    other = dead_letter(arrived(Source("lake", 0, 1), 1, key, b"{", 10), "of somebody else")
    assert longer.key_length
    strangers = [b"no letter", None, encode(longer), encode(other)]
    books.produce(books.at(topic, name, value) for value in strangers)

    found = history(name, "--json")

    assert found.exit_code == 0, found.stderr
    [one] = found.lines
    assert (one["command"], one["letter"]["source"]["offset"]) == (None, gone.offset)


@pytest.mark.proves("G-07")
def test_people_who_skip_a_command_leave_letters_and_they_are_told(
    history: Run, books: Books
) -> None:
    first = send(books, "skipped", b"1", b"2")
    until = first.offset + 2
    plan = Plan(jumped=[Passed(first.topic, first.partition, first.offset, until, word="ada: why")])
    jumped = letters(kafka_of(books.settings), plan, 100)
    topic = books.topics.dead_letters
    books.decide(
        lambda _: [Output(topic, x.letter.key, encode(x.letter), "", True) for x in jumped]
    )

    found = history("skipped", "--json")

    assert found.exit_code == 0, found.stderr
    errors = [one["letter"]["error"] for one in found.lines]
    assert errors[0].startswith(f"undecided when {first.topic}:{first.partition}:{until - 1}")
    assert errors[1] == "passed over by ada: why"


@pytest.mark.proves("G-07")
def test_a_decided_command_that_ended_nowhere_is_a_complaint_until_people_passed_it_over(
    history: Run, books: Books
) -> None:
    place = send(books, "lost", b"{")
    books.decide(without_letters)

    lost, shown = history("lost", "--json"), history("lost").stdout

    said = " ".join(lost.stderr.split())
    assert lost.exit_code == 1
    assert (lost.lines[0]["letter"], lost.lines[0]["decided"]) == (None, True)
    assert f"how the command at {place} ended is nowhere: the decider has come past it" in said
    assert said.endswith("verdict: the history of order 'lost' is not complete")
    assert "its outcome is nowhere" in shown

    until = place.offset + 1
    decision = Decision(source=place, until=until, who="bob", why="late", decided_at=1)
    write_decisions(books.options, books.topics, [decision])
    passed = history("lost", "--json")

    assert passed.exit_code == 0, passed.stderr
    assert f"{place} is passed over undecided: bob decided so (late)" in passed.stderr


@pytest.mark.proves("G-07")
def test_what_an_open_transaction_may_hide_is_not_said_to_lack(
    history: Run, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERDICT_TRANSACTION_TIMEOUT_S", "1")
    topic, number = books.topics.dead_letters, books.partition("hidden")
    send(books, "hidden", b"{")
    books.decide(without_letters)
    producer = Producer(books.options | {"transactional.id": "open"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"a letter", b"hidden", partition=number)
    producer.flush(30)

    found = history("hidden")
    producer.abort_transaction(30)

    assert (found.exit_code, found.stdout) == (5, "")
    said = " ".join(found.stderr.split())
    assert f"'hidden' cannot be told: a transaction on {topic}:{number} has been open" in said


@pytest.mark.proves("G-07")
def test_a_marker_that_cannot_be_read_is_said(history: Run, books: Books) -> None:
    books.ask("order", "known", PLACE)
    books.settle()
    books.produce([(books.topics.markers, NAME.encode(), b"no marker", 0)])

    found = history("known", "--json")

    assert found.exit_code == 1
    assert [one["response"]["status"] for one in found.lines] == ["ACCEPTED"]
    assert "under the key 'decider' is no marker" in " ".join(found.stderr.split())
