"""Whether everything that was asked by some time has its verdict, for readers to see."""

import time
from collections.abc import Iterator, Mapping, Sequence

from verdict.errors import Unreachable
from verdict.exactly_once.decider_query import decider_query
from verdict.exactly_once.markers import read_marker
from verdict.kafka.access import Kafka
from verdict.kafka.log import KafkaLog
from verdict.kafka.offsets import Offsets
from verdict.kafka.reading import Reader
from verdict.read_models.as_of.errors import NotDecided
from verdict.wire.spans import Partition
from verdict.wire.topics import Topics

RETRY_S = 0.05


class Decided:
    """Compares the decider's marker with the times of commands, which are those of Kafka.

    Args:
        kafka: Where to read.
        log: Of the same Kafka.
        topics: Of the deployment.
    """

    def __init__(self, kafka: Kafka, log: KafkaLog, topics: Topics) -> None:
        self._kafka = kafka
        self._log = log
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
        with Reader(self._kafka, self._kafka.transaction_timeout_s) as reader:
            later = reader.first_since(reader.partitions(commands), millis + 1)
        decided = self.marker_offsets()
        for topic, offsets in later.items():
            for number, needed in enumerate(offsets):
                done = dict(enumerate(decided.get(topic, ()))).get(number, 0)
                if done < needed:
                    raise NotDecided(millis, Partition(topic, number), needed, done)

    def await_settled(self, topics: Sequence[str]) -> None:
        """Return when every transaction has ended that is open on these topics now.

        A transaction ends on one partition after the other: who sees its marker need not see all
        of its records yet. That takes milliseconds, where nobody has left one open.

        Raises:
            Unreachable: One stays open for twice the transaction timeout.
        """
        with Reader(self._kafka, 2 * self._kafka.transaction_timeout_s) as reader:
            partitions = reader.partitions(topics)
            written = reader.latest(partitions, committed=False)
            while waiting := [*_behind(reader.latest(partitions, committed=True), written)]:
                if not reader.deadline.left():
                    raise Unreachable(
                        f"what was known then cannot be told: a transaction on {waiting[0].topic}:"
                        f"{waiting[0].partition} has been open for {reader.deadline.seconds:g} s; "
                        "let its writer end it, or kafka-transactions.sh, then ask again"
                    )
                time.sleep(RETRY_S)

    def marker_offsets(self) -> Mapping[str, Sequence[int]]:
        """Return how far commands are decided, by topic and partition; nothing without a marker."""
        if not self._log.exists(self._topics.markers):
            return {}
        query = decider_query(self._topics, 1)
        marker = read_marker(self._kafka, query, wait=False).marker
        return {} if marker is None else marker.offsets


def _behind(reached: Offsets, wanted: Offsets) -> Iterator[Partition]:
    for topic, offsets in wanted.items():
        for number, offset in enumerate(offsets):
            if reached[topic][number] < offset:
                yield Partition(topic, number)
