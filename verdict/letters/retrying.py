"""The retry of dead letters, running: one thread takes them in, another sends them out."""

from collections.abc import Callable, Collection

from sqlalchemy import Engine

from verdict.exactly_once.steps import unobserved
from verdict.kafka.access import Kafka
from verdict.kafka.log import KafkaLog
from verdict.letters.clock import Clock
from verdict.letters.destinations import Destinations
from verdict.letters.dispatch import Dispatch
from verdict.letters.intake import Intake
from verdict.letters.receiving import Rules
from verdict.letters.steps import OnStep
from verdict.letters.worker import Worker
from verdict.wire.topics import Topics

CHECK_S = 0.1


class Retrying:
    """Letters from `dead-letters` into the table, and out of it when they are due.

    Args:
        engine: With the tables of the read side; `stop` lets it go.
        kafka: Where everything is.
        topics: Of the deployment; they exist.
        attempts: Retries at most, of letters that do not say it themselves.
        backoff: Theirs, too.
        allowed: Where letters may go, as for `Destinations`.
        poll_s: How often to look for what is due.
        on_step: Called at each step of a batch on its way out.
    """

    def __init__(  # noqa: PLR0913
        self,
        engine: Engine,
        kafka: Kafka,
        topics: Topics,
        *,
        attempts: int,
        backoff: str,
        allowed: Collection[str] = (),
        poll_s: float = 0.5,
        on_step: OnStep = unobserved,
    ) -> None:
        self._engine = engine
        clock = Clock().now
        known = [Destinations(topics, allowed, lambda: topic_names(kafka)) for _ in range(2)]
        rules = Rules(
            attempts=attempts,
            backoff=backoff,
            retry_topic=topics.retry,
            problem_with=known[0].problem_with,
            now=clock,
            declared=topics.application.backoffs,
        )
        self._intake = Intake(engine, kafka, topics.dead_letters, rules, known[0])
        name = topics.transactional_id("letters")
        dispatch = Dispatch(engine, kafka, name, known[1], clock, poll_s, on_step)
        self._workers = [
            Worker("intake of letters", self._intake),
            Worker("dispatch of letters", dispatch),
        ]

    def start(self) -> None:
        """Begin both."""
        for worker in self._workers:
            worker.start()

    def await_ready(self, check: Callable[[], None]) -> None:
        """Return when all letters are taken in that Kafka had at the start, or none can be.

        While database or Kafka are out of reach this waits, and the log says for what.

        Args:
            check: Called again and again meanwhile; what it raises ends the wait.
        """
        while not self._intake.caught_up.wait(CHECK_S) and not self._workers[0].failure:
            check()

    @property
    def stopped(self) -> dict[str, str]:
        """Which of both is stopped for good, and why."""
        return {one.name: one.failure for one in self._workers if one.failure is not None}

    def stop(self) -> None:
        """End both; what is under way is finished first."""
        for worker in self._workers:
            worker.stop()
        self._engine.dispose()


def topic_names(kafka: Kafka) -> frozenset[str]:
    """Return the names of all topics.

    Raises:
        Unreachable: Kafka does not answer.
    """
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        return log.topics()
