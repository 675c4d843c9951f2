"""Stores dead letters in the table: each once, with the position in the same transaction."""

import logging
import threading
import time
from contextlib import suppress

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition
from sqlalchemy import Engine

from verdict.adapters.kafka.connection import ClientLog, KafkaConfig
from verdict.adapters.kafka.listing import list_topics
from verdict.adapters.kafka.reader import KafkaLog, consumer_of, header_bytes, headers_of
from verdict.adapters.sql.statements import append
from verdict.client.producer import source_of
from verdict.errors import UnreachableError
from verdict.model.source import Source
from verdict.reactions.dead_letters.allowed_topics import AllowedTopics
from verdict.reactions.dead_letters.queue import translating_db_errors
from verdict.reactions.dead_letters.retry_rules import RetryRules, row_of
from verdict.read_side.schema.database import require_same_database
from verdict.read_side.tables import position
from verdict.read_side.tables.dead_letters import table
from verdict.read_side.tables.row_states import FOLLOWER
from verdict.wire.dead_letter_record import DeadLetterRecord
from verdict.wire.partitions import PartitionOffsets, TopicPartition
from verdict.wire.topics import KEY_BYTES, LARGEST_BYTES, OUTPUT_BYTES

LOG = logging.getLogger("verdict.reactions.dead_letters")
LETTERS = 1000
BYTES = 8 * 2**20
ANSWER_S = 5.0
IDLE_S = 0.5
LOOK_S = 60.0  # between two looks for added partitions
OPTIONS: dict[str, str | int | bool] = {"group.id": "verdict-letters", "fetch.wait.max.ms": 1000}

FRAME_BYTES = 4_000  # what Kafka puts around a record, and the headers of a retry
SKIP = "have its sender send it in another way, and skip this"
NAMED_ODDLY = f"the name of one of its headers is no text in UTF-8: none is kept; {SKIP}"


class DeadLetterConsumer:
    """Stores letters; it stops if another process does so, too."""

    def __init__(
        self,
        engine: Engine,
        kafka: KafkaConfig,
        topic: str,
        rules: RetryRules,
        destinations: AllowedTopics,
    ) -> None:
        self.caught_up = threading.Event()  # with what was there at the first step
        self._engine = engine
        self._kafka = kafka
        self._topic = topic
        self._rules = rules
        self._destinations = destinations
        self._log = ClientLog()
        self._consumer: Consumer | None = None
        self._positions: PartitionOffsets = {}
        self._first_ends: dict[TopicPartition, int] | None = None
        self._look_at = 0.0

    @translating_db_errors()
    def step(self) -> float:
        """Store what has come, waiting for half a second at most."""
        require_same_database(self._engine)  # though no letter comes
        if time.monotonic() >= self._look_at and self._has_grown():
            self.reset()
        if self._consumer is None:
            self._consumer = self._open()
        letters, ends = self._poll(self._consumer)
        if reached := self._reached(letters, ends):
            self._store(letters, reached)
        first_ends = (self._first_ends or {}).items()
        if all(self._positions.get(place, 0) >= end for place, end in first_ends):
            self.caught_up.set()
        return 0.0

    def reset(self) -> None:
        """Let the consumer go; the next step begins at the position in SQL."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer, self._positions = None, {}

    def _has_grown(self) -> bool:
        """Tell whether the topic has more partitions than are read; others may write there."""
        self._look_at = time.monotonic() + LOOK_S
        if self._consumer is None:
            return False
        with suppress(KafkaException):  # the reader reports a Kafka that is away
            listed = list_topics(self._consumer, ANSWER_S, lambda: "", self._topic)
            return len(listed.topics[self._topic].partitions) > len(self._consumer.assignment())
        return False

    def _open(self) -> Consumer:
        with KafkaLog(self._kafka.settings, self._kafka.transaction_timeout_s) as log:
            kept = log.bounds(log.places([self._topic]))
        if self._first_ends is None:
            self._first_ends = {place: span.end for place, span in kept.items()}
        with self._engine.connect() as connection:
            self._positions = position.load(connection, FOLLOWER)
        starts = [(place, self._start(place, span.start)) for place, span in kept.items()]
        consumer = consumer_of(self._kafka.settings, self._log, OPTIONS)
        consumer.assign([KafkaPartition(*place, offset) for place, offset in starts])
        return consumer

    def _start(self, place: TopicPartition, earliest: int) -> int:
        reached = self._positions.get(place)
        if reached is not None and reached < earliest:
            LOG.error(
                "dead letters of %s:%s from offset %s to %s are lost, Kafka had dropped them "
                "before "
                "they were taken in: give the topic unlimited retention",
                *place, reached, earliest - 1,
            )  # fmt: skip
        return max(reached or 0, earliest)

    def _poll(self, consumer: Consumer) -> tuple[list[DeadLetterRecord], dict[int, int]]:
        """Return what has come, and the end of each partition that was read to its end."""
        letters: list[DeadLetterRecord] = []
        ends: dict[int, int] = {}
        size = 0
        while len(letters) < LETTERS and size < BYTES:
            message = consumer.poll(0 if letters or ends else IDLE_S)
            if message is None:
                break
            if self._is_end(message):
                ends[message.partition() or 0] = message.offset() or 0
            elif message.error() is not None:
                letters.append(self._passed(consumer, message, letters))
            else:
                letters.append(letter_of(message))
                size += len(letters[-1].value or b"")
        return letters, ends

    def _passed(
        self, consumer: Consumer, message: Message, letters: list[DeadLetterRecord]
    ) -> DeadLetterRecord:
        """Skip a record that cannot be unpacked, and return its letter.

        Kafka's client names the first position of its batch, again and again, until it seeks.
        """
        number, error = message.partition() or 0, message.error()
        taken = [one.source.offset + 1 for one in letters if one.source.partition == number]
        reached = self._positions.get(TopicPartition(self._topic, number), 0)
        place = Source(self._topic, number, max(message.offset() or 0, reached, *taken))
        consumer.seek(KafkaPartition(self._topic, number, place.offset + 1))
        return unreadable(place, "" if error is None else error.str())

    def _reached(
        self, letters: list[DeadLetterRecord], ends: dict[int, int]
    ) -> dict[TopicPartition, int]:
        """Return the next offset of each partition that has moved.

        A transaction's mark takes an offset, too: it counts when the end is reached, or a letter
        would seem to be left.
        """
        offsets = dict(ends)
        for letter in letters:
            number, behind = letter.source.partition, letter.source.offset + 1
            offsets[number] = max(offsets.get(number, 0), behind)
        places = {TopicPartition(self._topic, number): offset for number, offset in offsets.items()}
        return {
            place: offset
            for place, offset in places.items()
            if offset > self._positions.get(place, 0)
        }

    def _store(self, letters: list[DeadLetterRecord], reached: dict[TopicPartition, int]) -> None:
        """Store letters; if the position was set back, the next step begins there."""
        self._destinations.ask_again()
        rows = [row_of(letter, self._rules) for letter in letters]
        try:
            with self._engine.begin() as connection:
                moved = position.advance(connection, FOLLOWER, self._positions, reached)
                append(connection, table, rows)
        except position.ConcurrentProjectionError as error:
            if not error.set_back:
                raise
            LOG.warning("%s; going on from there", error)
            self.reset()
        else:
            self._positions = moved

    def _is_end(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return False
        if error.code() == KafkaError._PARTITION_EOF:
            return True
        if error.code() == KafkaError._BAD_COMPRESSION:
            return False
        raise UnreachableError(
            f"{self._topic} cannot be read from {self._kafka} "
            f"({self._log.last_failure or error.str()})"
        )


def letter_of(message: Message) -> DeadLetterRecord:
    """Return a record as a letter; of one that no topic would take again, its beginning."""
    key, value = header_bytes(message.key()), header_bytes(message.value())
    headers, unfit = headers_of(message), None
    if headers is None:
        headers, unfit = (), NAMED_ODDLY
    size = sum(len(part or b"") for part in (key, value, *(text for _, text in headers)))
    size += sum(len(name.encode()) for name, _ in headers)
    if size > OUTPUT_BYTES - FRAME_BYTES:
        unfit = (
            f"it has {size} bytes with its key and headers, and a topic takes "
            f"{OUTPUT_BYTES - FRAME_BYTES}: its beginning is kept, without headers; {SKIP}"
        )
        key, value, headers = key and key[:KEY_BYTES], value and value[:LARGEST_BYTES], ()
    return DeadLetterRecord(
        source=source_of(message),
        timestamp=message.timestamp()[1],
        key=key,
        value=value,
        headers=headers,
        unfit=unfit,
    )


def unreadable(source: Source, error: str) -> DeadLetterRecord:
    """Return the letter of a record that Kafka's client cannot unpack."""
    unfit = f"none of its bytes can be read ({error}): {SKIP}"
    return DeadLetterRecord(source=source, timestamp=0, key=None, value=None, unfit=unfit)
