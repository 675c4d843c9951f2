"""The retry of dead letters: one component stores them, another sends them when they are due."""

import time
from collections.abc import Callable

from sqlalchemy import Engine

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.reactions.dead_letters.allowed_topics import AllowedTopics
from verdict.reactions.dead_letters.consume import DeadLetterConsumer
from verdict.reactions.dead_letters.publish import RetryPublisher
from verdict.reactions.dead_letters.retry_rules import RetryRules
from verdict.settings.settings import Settings

LEAP_S = 1.0  # a clock that is further ahead of the time that has passed was set
BELIEVED_AFTER_S = 60.0


def monotonic_s() -> float:
    """Return seconds of a clock that cannot be set and goes on while the machine sleeps."""
    sleeps_too = getattr(time, "CLOCK_BOOTTIME", None)  # Linux
    return time.monotonic() if sleeps_too is None else time.clock_gettime(sleeps_too)


class Clock:
    """The wall clock that due times are compared with; it does not leap ahead.

    A clock that was set back is followed at once. One that was set forward is believed after a
    minute: a leap that is taken back until then makes nothing due.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = monotonic_s
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._trusted = wall(), steady()
        self._leapt_at: float | None = None

    def now(self) -> int:
        """Return epoch milliseconds."""
        wall, steady = self._wall(), self._steady()
        then, since = self._trusted
        passed = then + (steady - since)
        if wall <= passed + LEAP_S:
            self._leapt_at = None
        else:
            self._leapt_at = steady if self._leapt_at is None else self._leapt_at
            if steady - self._leapt_at < BELIEVED_AFTER_S:
                return int(passed * 1000)
        self._trusted, self._leapt_at = (wall, steady), None
        return int(wall * 1000)


def build_retry(
    engine: Engine, kafka: KafkaConfig, settings: Settings
) -> tuple[DeadLetterConsumer, RetryPublisher]:
    """Return what stores the letters in the table, and what sends them; each needs a thread."""
    clock, topics = Clock().now, settings.topics

    def topic_names() -> frozenset[str]:
        with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
            return log.topics()

    known = [AllowedTopics(topics, settings.retry_topics, topic_names) for _ in range(2)]
    rules = RetryRules(
        attempts=settings.retry_attempts,
        backoff=settings.retry_backoff,
        retry_topic=topics.retry,
        problem_with=known[0].problem_with,
        now=clock,
        declared=topics.application.backoffs,
    )
    intake = DeadLetterConsumer(engine, kafka, topics.dead_letters, rules, known[0])
    name, poll_s = topics.transactional_id("dead-letters"), settings.retry_poll_ms / 1000
    return intake, RetryPublisher(engine, kafka, name, known[1], clock, poll_s)
