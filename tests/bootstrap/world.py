"""A deployment of one partition a topic, without a service, whose topics go and come."""

from collections.abc import Set
from dataclasses import replace

from tests.application import APPLICATION
from tests.kit.deployment import KafkaDeployment
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.service.topics import ensure_topics
from verdict.settings.load import load_settings
from verdict.streaming.exactly_once.checkpoint import FRESH
from verdict.streaming.exactly_once.fencing import claim_query, write_progress
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord


class World(KafkaDeployment):
    """A deployment of one partition a topic, whose decider has claimed its topics."""

    def __init__(self, broker: EmbeddedBroker, data_dir: str, prefix: str) -> None:
        self.settings = load_settings(
            APPLICATION, data_dir=data_dir, topic_prefix=prefix, partitions=1
        )
        super().__init__(broker.bootstrap_servers, self.settings.topics)
        self._query = decider_query(self.settings.topics, 1)
        ensure_topics(self.settings, self.kafka)
        owner = claim_query(self._query, self.kafka, FRESH)
        owner.close()
        self._progress = owner.progress

    def knows(self, aggregate_type: str) -> None:
        """Let the progress record know one aggregate only, with the ids of its topics."""
        of = set(self.settings.topics.siblings(self.settings.topics.events(aggregate_type)))
        known, offsets = self._progress.topic_ids.items(), self._progress.offsets.items()
        self.remember(
            replace(
                self._progress,
                topic_ids={name: id for name, id in known if name in of},
                offsets={name: at for name, at in offsets if name in of},
            )
        )

    def delete(self, topic: str) -> None:
        self.remove(topic)

    def deleted_and_created(self, topic: str, *values: bytes) -> None:
        """Make it again and write to it, as a producer may that goes on."""
        self.remove(topic)
        self.create_own(topic)
        self.write(topic, *values)

    def write(self, topic: str, *values: bytes) -> None:
        for value in values:
            self.produce([(topic, "a key", value, 0)], headers={"name": value})

    def records(self, topic: str) -> list[tuple[int, bytes, object]]:
        """Return offset, value and headers of all that Kafka holds."""
        with KafkaLog(self.options, 30) as log:
            found = log.read(log.bounds(log.places([topic])))
            return [(one.offset() or 0, _bytes(one.value()), one.headers()) for one in found]

    def has_decided(self, topic: str, offset: int) -> None:
        """Let the decider's progress record say how far it has read a topic of commands."""
        self.remember(replace(self.progress(), offsets={**self._progress.offsets, topic: [offset]}))

    def knows_again(self, cluster_id: str | None, topic_ids: dict[str, str]) -> None:
        """Let the progress record have the ids that it had before."""
        self.remember(replace(self.progress(), cluster_id=cluster_id, topic_ids=topic_ids))

    def remember(self, progress: ProgressRecord) -> None:
        """Let this be the decider's progress record."""
        transactions = Transactions(self.kafka, self._query.transactional_id)
        write_progress(transactions, self._query, self.kafka, progress).close()

    def forget_progress(self) -> None:
        """Write a tombstone in its place."""
        self.produce([(self._query.progress_topic, self._query.key, None, 0)])

    def progress(self) -> ProgressRecord:
        found = read_progress(self.kafka, self._query, wait=True).progress
        assert found is not None
        return found

    def names(self) -> Set[str]:
        with KafkaLog(self.kafka.settings) as log:
            return log.topics()


def _bytes(value: str | bytes | None) -> bytes:
    assert isinstance(value, bytes)
    return value
