"""Letters of one test on a real broker and a real database, and what becomes of them."""

from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Message, Producer
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Engine, select

from tests.application import APPLICATION
from tests.kit.deployment import KafkaDeployment, await_true
from tests.topics import create_new
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.reactions.dead_letters.allowed_topics import AllowedTopics
from verdict.reactions.dead_letters.consume import DeadLetterConsumer
from verdict.reactions.dead_letters.publish import RetryPublisher
from verdict.reactions.dead_letters.retry_components import build_retry
from verdict.reactions.dead_letters.retry_rules import RetryRules
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables.dead_letters import table
from verdict.service.supervisor import StepThread, Supervisor, Work
from verdict.settings.load import load_settings
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step
from verdict.wire.dead_letter_record import Pairs
from verdict.wire.topics import Topics

NOW = 1_795_300_000_000
Given = dict[str, str | bytes | None]


class Desk(KafkaDeployment):
    """`dead-letters`, `retry` and the commands of orders; a clock that the test sets.

    Letters that the test does not say more of wait for a second, three times at most.
    """

    def __init__(self, servers: str, prefix: str, url: str) -> None:
        super().__init__(servers, Topics(APPLICATION, prefix=prefix, partitions=2))
        self.url = url
        self.engine = open_database(url)
        create_read_side(self.engine, [])
        self.now = NOW
        self._producer = Producer(self.options)
        self.create(self.topics.dead_letters, self.topics.retry, self.topics.commands("order"))

    def create(self, *names: str, **settings: str) -> None:
        """Create topics with two partitions."""
        wanted = {"max.message.bytes": str(4 << 20), "retention.ms": "-1"} | {
            name.replace("_", "."): value for name, value in settings.items()
        }
        create_new(self._admin(), [NewTopic(name, 2, 1, config=wanted) for name in names])

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

    def take_in(self) -> None:
        """Take in all that is there, by a new intake."""
        intake = self.intake()
        try:
            until(intake.caught_up.is_set, intake.step)
        finally:
            intake.reset()

    def send_due(self, on_step: OnStep = ignore_step) -> None:
        """Send all that is due at the time of the test, by a new dispatch."""
        name, clock = f"{self.topics.prefix}dead-letters", lambda: self.now
        allowed = self._destinations()
        dispatch = RetryPublisher(self.engine, self.kafka, name, allowed, clock, on_step=on_step)
        try:
            while dispatch.step() == 0:
                pass
        finally:
            dispatch.reset()

    def retrying(
        self, kafka: KafkaConfig | None = None, retry_s: float = 0.0, **options: Any
    ) -> "RunningRetry":
        """Return the retry as `verdict up` runs it."""
        topics = {"topic_prefix": self.topics.prefix, "partitions": self.topics.partitions}
        settings = load_settings(APPLICATION, **topics, **({"retry_poll_ms": 50} | options))
        return RunningRetry(self.engine, kafka or self.kafka, settings, retry_s)

    def rows(self) -> list[dict[str, Any]]:
        """Return the table, in the order of the letters' bytes."""
        with self.engine.connect() as connection:
            found = connection.execute(select(table).order_by(table.c.bytes, table.c.id))
            return [row._asdict() for row in found]

    def retries(self, topic: str | None = None) -> list[Message]:
        """Return what a read_committed consumer sees on a topic, on `retry` if none is named."""
        return self.committed(topic or self.topics.retry)

    def _destinations(self) -> AllowedTopics:
        return AllowedTopics(self.topics, ["*"], lambda: self._admin().list_topics().topics)

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
    await_true(reached, step)


class RunningRetry:
    """Both components, supervised as in a service, until the context is left; by the real clock."""

    def __init__(
        self, engine: Engine, kafka: KafkaConfig, settings: Settings, retry_s: float = 0.0
    ) -> None:
        self._engine = engine
        intake, dispatch = build_retry(engine, kafka, settings)
        works: dict[str, Work] = {"intake of letters": intake, "dispatch of letters": dispatch}
        self._supervisors = [
            Supervisor(name=name, component=StepThread(name, work), retry_s=retry_s)
            for name, work in works.items()
        ]
        self._supervisors[0].is_ready = intake.caught_up.is_set

    def __enter__(self) -> "RunningRetry":
        """Start both, and return when they are ready."""
        for supervisor in self._supervisors:
            supervisor.start()
        for supervisor in self._supervisors:
            supervisor.await_ready(self.check)
        return self

    def check(self) -> None:
        for supervisor in self._supervisors:
            supervisor.check()

    @property
    def failures(self) -> dict[str, str]:
        return {one.name: one.failure for one in self._supervisors if one.failure is not None}

    def __exit__(self, *_: object) -> None:
        for supervisor in self._supervisors:
            supervisor.stop()
        self._engine.dispose()
