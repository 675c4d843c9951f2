"""The retry of dead letters: one component takes them in, another sends them out when due."""

from collections.abc import Collection

from sqlalchemy import Engine

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.reactions.dead_letters.clock import Clock
from verdict.reactions.dead_letters.consume import DeadLetterConsumer
from verdict.reactions.dead_letters.destinations import Destinations
from verdict.reactions.dead_letters.publish import RetryPublisher
from verdict.reactions.dead_letters.row import RetryRules
from verdict.reactions.dead_letters.steps import OnStep
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.wire.topics import Topics


def build_retry(  # noqa: PLR0913
    engine: Engine,
    kafka: KafkaConfig,
    topics: Topics,
    *,
    attempts: int,
    backoff: str,
    allowed: Collection[str] = (),
    poll_s: float = 0.5,
    on_step: OnStep = ignore_step,
) -> tuple[DeadLetterConsumer, RetryPublisher]:
    """Return what takes letters from `dead-letters` into the table, and what sends them out of it.

    Each runs in a thread of its own.
    """
    clock = Clock().now
    known = [Destinations(topics, allowed, lambda: topic_names(kafka)) for _ in range(2)]
    rules = RetryRules(
        attempts=attempts,
        backoff=backoff,
        retry_topic=topics.retry,
        problem_with=known[0].problem_with,
        now=clock,
        declared=topics.application.backoffs,
    )
    intake = DeadLetterConsumer(engine, kafka, topics.dead_letters, rules, known[0])
    name = topics.transactional_id("dead-letters")
    return intake, RetryPublisher(engine, kafka, name, known[1], clock, poll_s, on_step)


def topic_names(kafka: KafkaConfig) -> frozenset[str]:
    """Return the names of all topics.

    Raises:
        UnreachableError: Kafka does not answer.
    """
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        return log.topics()
