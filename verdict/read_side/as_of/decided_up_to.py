"""Whether everything that was asked by some time has its verdict, for readers to see."""

from collections.abc import Mapping, Sequence

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import offsets_at
from verdict.adapters.kafka.reader import KafkaLog
from verdict.read_side.as_of.errors import UndecidedCommandsError
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress_now
from verdict.wire.topics import Topics


class DecidedUpTo:
    """Compares the decider's progress with the times of commands, which are those of Kafka."""

    def __init__(self, kafka: KafkaConfig, topics: Topics) -> None:
        self._kafka = kafka
        self._topics = topics

    def require_decided_until(self, millis: int, commands: Sequence[str]) -> None:
        """Return when the decider has published the outcome of all commands up to that time.

        Those in a transaction that is still open count too: they have their time already.

        Raises:
            UndecidedCommandsError: It has not.
            UnreachableError: Kafka does not answer within the transaction timeout.
        """
        if not commands:
            return
        with KafkaLog(self._kafka.settings, self._kafka.transaction_timeout_s) as log:
            later = log.first_since(log.places(commands), millis + 1)
        decided = self.progress_offsets()
        for place, needed in later.items():
            if (done := offsets_at(decided, place)) < needed:
                raise UndecidedCommandsError(millis, place, needed, done)

    def await_settled(self, topics: Sequence[str]) -> None:
        """Return when every transaction has ended that is open on these topics now.

        Raises:
            UnreachableError: One stays open for twice the transaction timeout.
        """
        with KafkaLog(self._kafka.settings, 2 * self._kafka.transaction_timeout_s) as log:
            log.await_settled(log.places(topics), "what was known then cannot be told")

    def progress_offsets(self) -> Mapping[str, Sequence[int]]:
        """Return how far commands are decided, by topic and partition; none without a record."""
        progress = read_progress_now(self._kafka, decider_query(self._topics, 1))
        return {} if progress is None else progress.offsets
