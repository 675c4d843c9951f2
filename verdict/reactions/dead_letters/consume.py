"""Stores dead letters in the table: each once, with the position in the same transaction."""

import logging
import threading
import time

from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as KafkaPartition
from sqlalchemy import Engine

from verdict.adapters.kafka.connection import ClientLog, KafkaConfig
from verdict.adapters.kafka.reader import (
    KafkaLog,
    consumer_of,
    header_bytes,
    headers_of,
    place_of,
)
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
IDLE_S = 0.5
OPEN_S = 60.0
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
        self._open_until = 0.0

    @translating_db_errors()
    def step(self) -> float:
        """Store what has come, waiting for half a second at most."""
        require_same_database(self._engine)  # though no letter comes
        if time.monotonic() >= self._open_until:
            self.reset()  # somebody may have added partitions, and others may write there
        if self._consumer is None:
            self._consumer = self._open()
        letters, moved = self._poll(self._consumer)
        if moved:
            self._store(letters, moved)
        first_ends = (self._first_ends or {}).items()
        if all(self._positions.get(place, 0) >= end for place, end in first_ends):
            self.caught_up.set()
        return 0.0

    def reset(self) -> None:
        """Close the consumer; the next step begins at the position in SQL."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer, self._positions = None, {}

    def _open(self) -> Consumer:
        self._open_until = time.monotonic() + OPEN_S
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
                "dead letters of %s from offset %s to %s are lost, Kafka had dropped them before "
                "they were taken in: give the topic unlimited retention",
                place, reached, earliest - 1,
            )  # fmt: skip
        return max(reached or 0, earliest)

    def _poll(self, consumer: Consumer) -> tuple[list[DeadLetterRecord], dict[TopicPartition, int]]:
        """Return what has come, and the next offset of each partition that has moved.

        A transaction's mark takes an offset, too. It counts when the end is reached; else a letter
        would seem to be left.
        """
        letters: list[DeadLetterRecord] = []
        moved: dict[TopicPartition, int] = {}
        wait_s, size = IDLE_S, 0
        while len(letters) < LETTERS and size < BYTES:
            message = consumer.poll(wait_s)
            if message is None:
                break
            wait_s, place, offset = 0.0, place_of(message), message.offset() or 0
            reached = moved.get(place, self._positions.get(place, 0))
            if not self._is_end(message):
                letter = self._letter(consumer, message, Source(*place, max(offset, reached)))
                letters.append(letter)
                size += len(letter.value or b"")
                offset = letter.source.offset + 1
            if offset > reached:
                moved[place] = offset
        return letters, moved

    def _letter(self, consumer: Consumer, message: Message, source: Source) -> DeadLetterRecord:
        """Return the letter of a record; skip one that cannot be unpacked.

        Of such a one Kafka's client names the first position of its batch, again and again, until
        it seeks.
        """
        error = message.error()
        if error is None:
            return letter_of(message)
        consumer.seek(KafkaPartition(source.topic, source.partition, source.offset + 1))
        unfit = f"none of its bytes can be read ({error.str()}): {SKIP}"
        return DeadLetterRecord(source=source, timestamp=0, key=None, value=None, unfit=unfit)

    def _store(self, letters: list[DeadLetterRecord], moved: dict[TopicPartition, int]) -> None:
        self._destinations.refresh()
        rows = [row_of(letter, self._rules) for letter in letters]
        with self._engine.begin() as connection:
            reached = position.advance(connection, FOLLOWER, self._positions, moved)
            append(connection, table, rows)
        self._positions = reached

    def _is_end(self, message: Message) -> bool:
        error = message.error()
        if error is None or error.code() == KafkaError._BAD_COMPRESSION:
            return False
        if error.code() == KafkaError._PARTITION_EOF:
            return True
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
