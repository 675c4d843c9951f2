"""Whether everything that was asked by some time has its verdict, for readers to see."""

from collections.abc import Mapping, Sequence

from verdict.exactly_once.markers import marker_now
from verdict.exactly_once.query import decider_query
from verdict.kafka.access import Kafka
from verdict.kafka.log import KafkaLog
from verdict.kafka.offsets import at
from verdict.read_models.as_of.errors import NotDecided
from verdict.wire.topics import Topics


class Decided:
    """Compares the decider's marker with the times of commands, which are those of Kafka."""

    def __init__(self, kafka: Kafka, topics: Topics) -> None:
        self._kafka = kafka
        self._topics = topics

    def see_that_all_is_until(self, millis: int, commands: Sequence[str]) -> None:
        """Return when the decider has published the outcome of all commands up to that time.

        Those in a transaction that is still open count too: they have their time already.

        Args:
            millis: Epoch milliseconds, in the past.
            commands: The topics to look at.

        Raises:
            NotDecided: It has not.
            Unreachable: Kafka does not answer within the transaction timeout.
        """
        if not commands:
            return
        with KafkaLog(self._kafka.settings, self._kafka.transaction_timeout_s) as log:
            later = log.first_since(log.places(commands), millis + 1)
        decided = self.marker_offsets()
        for place, needed in later.items():
            if (done := at(decided, place)) < needed:
                raise NotDecided(millis, place, needed, done)

    def await_settled(self, topics: Sequence[str]) -> None:
        """Return when every transaction has ended that is open on these topics now.

        Raises:
            Unreachable: One stays open for twice the transaction timeout.
        """
        with KafkaLog(self._kafka.settings, 2 * self._kafka.transaction_timeout_s) as log:
            log.await_settled(log.places(topics), "what was known then cannot be told")

    def marker_offsets(self) -> Mapping[str, Sequence[int]]:
        """Return how far commands are decided, by topic and partition; nothing without a marker."""
        marker = marker_now(self._kafka, decider_query(self._topics, 1))
        return {} if marker is None else marker.offsets
