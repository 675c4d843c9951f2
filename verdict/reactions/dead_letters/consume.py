"""Letters from Kafka into the table: each once, with the position in the same transaction."""

import logging
import threading
import time
from contextlib import suppress

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition
from sqlalchemy import Engine

from verdict.adapters.kafka.connection import ClientLog, KafkaConfig
from verdict.adapters.kafka.listing import list_topics
from verdict.adapters.kafka.reader import KafkaLog, consumer_of
from verdict.adapters.sql.statements import append
from verdict.errors import UnreachableError
from verdict.model.source import Source
from verdict.reactions.dead_letters.arriving import letter_of, unreadable
from verdict.reactions.dead_letters.database_errors import translating_db_errors
from verdict.reactions.dead_letters.destinations import Destinations
from verdict.reactions.dead_letters.row import RetryRules, row_of
from verdict.read_side.schema.database import require_same_database
from verdict.read_side.tables import position
from verdict.read_side.tables.dead_letters import table
from verdict.read_side.tables.states import FOLLOWER
from verdict.wire.dead_letter_record import DeadLetterRecord
from verdict.wire.partitions import TopicPartition

LOG = logging.getLogger("verdict.reactions.dead_letters")
LETTERS = 1000
BYTES = 8 * 2**20
ANSWER_S = 5.0
IDLE_S = 0.5
LOOK_S = 60.0  # how often to look for partitions that somebody added; others may write there
OPTIONS: dict[str, str | int | bool] = {"group.id": "verdict-letters", "fetch.wait.max.ms": 1000}


class DeadLetterConsumer:
    """Takes letters in; the only one that does, or it stops.

    Args:
        engine: With the tables of the read side.
        kafka: Where the letters are.
        topic: Their topic.
        rules: For letters that do not say it themselves.
        destinations: Behind `rules.problem_with`.
    """

    def __init__(
        self,
        engine: Engine,
        kafka: KafkaConfig,
        topic: str,
        rules: RetryRules,
        destinations: Destinations,
    ) -> None:
        self.caught_up = threading.Event()  # with what was there at the first step
        self._engine = engine
        self._kafka = kafka
        self._topic = topic
        self._rules = rules
        self._destinations = destinations
        self._log = ClientLog()
        self._consumer: Consumer | None = None
        self._positions: position.Positions = {}
        self._missing: dict[int, int] | None = None
        self._look_at = 0.0

    @translating_db_errors()
    def step(self) -> float:
        """Take in what has come, waiting for half a second at most.

        Raises:
            ConcurrentProjectionError: Somebody else takes letters in.
            DatabaseFileChangedError: The database's file was removed or replaced.
            UnreachableError: Kafka does not answer, or the database failed.
        """
        require_same_database(self._engine)  # though no letter comes
        if time.monotonic() >= self._look_at and self._has_grown():
            self.reset()
        if self._consumer is None:
            self._consumer = self._open()
        letters, ends = self._come(self._consumer)
        reached = self._reached(letters, ends)
        if reached and not self._stored(letters, reached):
            return 0.0
        for partition, end in ends.items():
            self._note(partition, end)
        return 0.0

    def reset(self) -> None:
        """Begin again at the position in SQL; after a failure, and at the end."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _has_grown(self) -> bool:
        """Tell whether the topic has more partitions than are read."""
        self._look_at = time.monotonic() + LOOK_S
        if self._consumer is None:
            return False
        with suppress(KafkaException):  # a Kafka that is away is named by who reads
            listed = list_topics(self._consumer, ANSWER_S, lambda: "", self._topic)
            return len(listed.topics[self._topic].partitions) > len(self._consumer.assignment())
        return False

    def _open(self) -> Consumer:
        with KafkaLog(self._kafka.settings, self._kafka.transaction_timeout_s) as log:
            kept = log.bounds(log.places([self._topic]))
        if self._missing is None:
            self._missing = {place.partition: span.end for place, span in kept.items()}
        with self._engine.connect() as connection:
            self._positions = position.load(connection, FOLLOWER)
        starts = {place: self._start(place, span.start) for place, span in kept.items()}
        for place, offset in starts.items():
            self._note(place.partition, offset)
        consumer = consumer_of(self._kafka.settings, self._log, OPTIONS)
        consumer.assign([KafkaPartition(*place, offset) for place, offset in starts.items()])
        return consumer

    def _start(self, place: TopicPartition, earliest: int) -> int:
        reached = self._positions.get(place)
        if reached is not None and reached < earliest:
            LOG.error(
                "letters of %s:%s from offset %s to %s are lost, Kafka had dropped them before "
                "they were taken in: give the topic unlimited retention",
                *place, reached, earliest - 1,
            )  # fmt: skip
        return max(reached or 0, earliest)

    def _come(self, consumer: Consumer) -> tuple[list[DeadLetterRecord], dict[int, int]]:
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
        """Go on behind a record that cannot be unpacked, and return its letter.

        Kafka's client tells the first place of its batch, again and again, until it is sent on.
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
        """Return the next offset of each partition in which it is another one now.

        Behind a letter lies the mark of its transaction, which takes an offset: a reader who did
        not go on to the end would seem to have a letter left, for ever.
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

    def _stored(self, letters: list[DeadLetterRecord], reached: dict[TopicPartition, int]) -> bool:
        """Store letters; return False where the position was set back: the next step begins there.

        Raises:
            ConcurrentProjectionError: Somebody else takes letters in.
        """
        try:
            self._store(letters, reached)
        except position.ConcurrentProjectionError as error:
            if not error.set_back:
                raise
            LOG.warning("%s; going on from there", error)
            self.reset()
            return False
        return True

    def _store(self, letters: list[DeadLetterRecord], reached: dict[TopicPartition, int]) -> None:
        self._destinations.ask_again()
        rows = [row_of(letter, self._rules) for letter in letters]
        with self._engine.begin() as connection:
            moved = position.advance(connection, FOLLOWER, self._positions, reached)
            append(connection, table, rows)
        self._positions = moved
        for place, offset in reached.items():
            self._note(place.partition, offset)

    def _note(self, number: int, offset: int) -> None:
        """Note how far a partition is taken in, until that is as far as it went at first."""
        missing = self._missing or {}
        if offset >= missing.get(number, 0):
            missing.pop(number, None)
        if not missing:
            self.caught_up.set()

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
