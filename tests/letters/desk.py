"""Letters of one test on a real broker and a real database, and what becomes of them."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Engine, select

from tests.application import APPLICATION
from tests.topics import create_new
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.reactions.dead_letters.allowed_topics import AllowedTopics
from verdict.reactions.dead_letters.consume import DeadLetterConsumer
from verdict.reactions.dead_letters.publish import OnStep, RetryPublisher
from verdict.reactions.dead_letters.retry import topic_names
from verdict.reactions.dead_letters.row import RetryRules
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables.dead_letters import table
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.wire.dead_letter_record import Pairs
from verdict.wire.topics import Topics

NOW = 1_795_300_000_000
PATIENCE_S = 60
Given = dict[str, str | bytes | None]


class Desk:
    """`dead-letters`, `retry` and the commands of orders; a clock that the test sets.

    Letters that the test does not say more of wait for a second, three times at most.
    """

    def __init__(self, servers: str, prefix: str, url: str) -> None:
        self.topics = Topics(APPLICATION, prefix=prefix, partitions=2)
        self.kafka = KafkaConfig(settings={"bootstrap.servers": servers})
        self.url = url
        self.engine = open_database(url)
        create_read_side(self.engine, [])
        self.now = NOW
        self._producer = Producer(dict(self.kafka.settings))
        self.create(self.topics.dead_letters, self.topics.retry, self.topics.commands("order"))

    def create(self, *names: str, **settings: str) -> None:
        """Create topics with two partitions."""
        admin = AdminClient(dict(self.kafka.settings))
        wanted = {"max.message.bytes": str(4 << 20), "retention.ms": "-1"} | {
            name.replace("_", "."): value for name, value in settings.items()
        }
        create_new(admin, [NewTopic(name, 2, 1, config=wanted) for name in names])

    def put(
        self,
        values: Iterable[bytes | None],
        key: bytes | None = b"k",
        at: int = NOW,
        headers: Given | None = None,
    ) -> None:
        """Put letters on `dead-letters`, as any service may."""
        given = list((headers or {}).items())
        for number, value in enumerate(values):
            while True:
                try:
                    self._producer.produce(
                        self.topics.dead_letters, value, key, number % 2,
                        timestamp=at, headers=given,
                    )  # fmt: skip
                    break
                except BufferError:
                    self._producer.poll(0.1)
        assert self._producer.flush(60) == 0

    def intake(self) -> DeadLetterConsumer:
        """Return a new intake, as a restart does."""
        known = self._destinations()
        rules = RetryRules(
            attempts=3,
            backoff="fixed:1s",
            retry_topic=self.topics.retry,
            problem_with=known.problem_with,
            now=lambda: self.now,
        )
        return DeadLetterConsumer(self.engine, self.kafka, self.topics.dead_letters, rules, known)

    def dispatch(
        self,
        engine: Engine | None = None,
        name: str = "dead-letters",
        on_step: OnStep = ignore_step,
    ) -> RetryPublisher:
        """Return a new dispatch, which looks at the clock of the test."""
        return RetryPublisher(
            engine or self.engine,
            self.kafka,
            f"{self.topics.prefix}{name}",
            self._destinations(),
            lambda: self.now,
            on_step=on_step,
        )

    def take_in(self) -> None:
        """Take in all that is there, by a new intake."""
        intake = self.intake()
        try:
            until(intake.caught_up.is_set, intake.step)
        finally:
            intake.reset()

    def send_due(self) -> None:
        """Send all that is due, by a new dispatch."""
        dispatch = self.dispatch()
        try:
            while dispatch.step() == 0:
                pass
        finally:
            dispatch.reset()

    def rows(self) -> list[dict[str, Any]]:
        """Return the table, in the order of the letters' bytes."""
        with self.engine.connect() as connection:
            found = connection.execute(select(table).order_by(table.c.bytes, table.c.id))
            return [row._asdict() for row in found]

    def retries(self, topic: str | None = None) -> list[Message]:
        """Return what a read_committed consumer sees on a topic, on `retry` if none is named.

        A commit returns before its progress records are in the log; so all transactions have to be
        over.
        """
        name = topic or self.topics.retry
        with KafkaLog(self.kafka.settings, 60) as log:
            places = log.places([name])
            log.await_settled(places, f"{name} cannot be looked at")
            return [*log.read(log.bounds(places))]

    def _destinations(self) -> AllowedTopics:
        return AllowedTopics(self.topics, ["*"], lambda: topic_names(self.kafka))

    def close(self) -> None:
        """Let the database and Kafka go."""
        self.engine.dispose()
        del self._producer


def headers_of(message: Message) -> dict[str, bytes]:
    """Return the headers of a record; none of them is there twice."""
    found: Pairs = tuple(message.headers() or ())  # type: ignore[arg-type]
    assert len(found) == len(dict(found))
    return dict(found)  # type: ignore[arg-type]


def until(reached: Callable[[], bool], step: Callable[[], object]) -> None:
    """Take steps until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < deadline, f"not so within {PATIENCE_S} s"
        step()
        time.sleep(0.005)  # whoever is waited for needs the processor
