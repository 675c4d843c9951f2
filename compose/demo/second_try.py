"""Chapter: a service that failed puts what it was told aside, and gets it again when it is due."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Message

from compose.demo.load import records
from compose.demo.story import Story
from verdict import iso_time
from verdict.wire.letter import RETRY_ATTEMPT, RETRY_ATTEMPTS, RETRY_BACKOFF, RETRY_ID, RETRY_TOPIC

BACKOFF = "fixed:1s"
PARCEL, VALUE = b"parcel-1", b'{"deliver": "parcel-1"}'
LOST, NOWHERE = b"parcel-2", b'{"deliver": "parcel-2"}'
WAITING = "SELECT count(*) FROM letter WHERE status = 'WAITING'"
PARKED = "SELECT key, error FROM letter WHERE key = :key"


def tell(story: Story) -> None:
    """Let a carrier fail, and see that its letters come back, or are kept for a person."""
    topics = story.topics
    story.voice.begin(
        "A letter that succeeds on its second try",
        "A carrier, a service of its own, is told to deliver two parcels and fails. It puts both "
        f"on {topics.dead_letters}: one is to be tried again after a second, up to three times, "
        "the other never.",
    )
    _fail(story, PARCEL, VALUE, {RETRY_BACKOFF: BACKOFF, RETRY_ATTEMPTS: "3"})
    _fail(story, LOST, NOWHERE, {RETRY_ATTEMPTS: "0"})
    story.wait_until(lambda: _found(story, topics.retry, PARCEL) is not None, "the parcel's retry")
    story.wait_until(lambda: bool(_kept(story)), "the letter that nobody tries again")
    # Kafka shows a retry a moment before the table forgets the letter
    story.wait_until(lambda: not _waiting(story), "the table without a letter that waits")
    letter, retry = (_found(story, topic, PARCEL) for topic in (topics.dead_letters, topics.retry))
    assert letter is not None
    assert retry is not None
    headers = dict(retry.headers() or ())
    story.voice.show(
        ("topic", "key", "at", RETRY_ATTEMPT, RETRY_ID),
        [
            (topics.dead_letters, PARCEL.decode(), _at(letter), "", ""),
            (
                topics.retry,
                PARCEL.decode(),
                _at(retry),
                _text(headers, RETRY_ATTEMPT),
                _text(headers, RETRY_ID),
            ),
        ],
    )
    waited_ms = retry.timestamp()[1] - letter.timestamp()[1]
    story.voice.expect(
        "the first came back when it was due, not before: as it was, with one attempt more",
        (True, VALUE, "1"),
        (waited_ms >= 1000, retry.value(), _text(headers, RETRY_ATTEMPT)),
    )
    story.voice.expect(
        "the carrier delivers it on this second try, so no letter waits any more",
        0,
        _waiting(story),
    )
    story.voice.expect(
        "the other is kept for a person: `verdict letters list`",
        [LOST],
        [bytes(key) for key, _ in _kept(story)],
    )


def _fail(story: Story, key: bytes, value: bytes, headers: Mapping[str, str]) -> None:
    named: dict[str, str | bytes | None] = {**headers, RETRY_TOPIC: story.topics.retry}
    story.plain.produce(story.topics.dead_letters, value, key, headers=named)
    story.plain.flush()


def _found(story: Story, topic: str, key: bytes) -> Message | None:
    return next((message for message in records(story, [topic]) if message.key() == key), None)


def _waiting(story: Story) -> int:
    [(count,)] = story.select(WAITING).rows
    return int(count)


def _kept(story: Story) -> list[tuple[bytes, str]]:
    return [(key, error) for key, error in story.select(PARKED, key=LOST).rows]


def _at(message: Message) -> str:
    return iso_time(message.timestamp()[1])


def _text(headers: Mapping[str, Any], name: str) -> str:
    return bytes(headers[name]).decode()
