"""A deployment of one query on a real broker, and what its consumers see."""

from collections.abc import Collection
from copy import copy

from confluent_kafka import Message
from confluent_kafka.cimpl import NewTopic

from tests.application import APPLICATION
from tests.kit.deployment import KafkaDeployment
from tests.topics import create_new
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identities
from verdict.adapters.kafka.reader import KafkaLog
from verdict.streaming.exactly_once.batch import OutputRecord, SourceBatch
from verdict.streaming.exactly_once.checkpoint import FRESH, CheckpointPosition
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step
from verdict.streaming.exactly_once.fencing import claim_query
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.topics import Topics

BATCH_SIZE = 10  # commands
SPARK_QUERY = "spark-query"


class Deployment(KafkaDeployment):
    """Topics with a prefix of their own, and the query `decider` on them."""

    def __init__(
        self, bootstrap_servers: str, name: str, transaction_timeout_s: float = 15.0
    ) -> None:
        super().__init__(bootstrap_servers, Topics(APPLICATION, name, f"{name}."))
        self.kafka = KafkaConfig(settings=self.options, transaction_timeout_s=transaction_timeout_s)
        self.name = name
        self.commands, self.events = f"{name}.commands", f"{name}.events"
        self.query = self.another("decider")
        self._publishers: list[Publisher] = []
        self._fencing: list[Transactions] = []

    def another(self, query: str) -> Query:
        """Return a query on the same topics, and the same progress records."""
        return Query(
            name=query,
            transactional_id=f"{self.name}.{query}",
            progress_topic=f"{self.name}.progress",
            inputs=(self.commands,),
            outputs=(self.events,),
            handler_version="rules-1",
            first_shards=2,
        )

    def create_topics(self) -> None:
        topics = [
            NewTopic(self.commands, 2, 1),
            NewTopic(self.events, 2, 1, config={"max.message.bytes": str(4 << 20)}),
            NewTopic(self.query.progress_topic, 1, 1, config={"cleanup.policy": "compact"}),
        ]
        create_new(self._admin(), topics)

    def create(self, topic: str) -> None:
        """Create one more topic, of one partition."""
        create_new(self._admin(), [NewTopic(topic, 1, 1)])

    def recreate(self, topic: str, partitions: int = 2) -> None:
        super().recreate(topic, partitions)

    def ids(self, topics: Collection[str]) -> dict[str, str]:
        """Return Kafka's id of each topic that exists."""
        return dict(Identities(self.kafka).identity(topics).topic_ids)

    def close(self) -> None:
        """Let all producers go: one whose broker is gone costs a third of a core."""
        for publisher in self._publishers:
            publisher.close()
        for producer in self._fencing:
            producer.close()

    def claim(
        self, checkpoint: CheckpointPosition = FRESH, on_step: OnStep = ignore_step
    ) -> Publisher:
        publisher = claim_query(self.query, self.kafka, checkpoint, on_step)
        self._publishers.append(publisher)
        return publisher

    def progress(self) -> ProgressRecord | None:
        return read_progress(self.kafka, self.query, wait=True).progress

    def visible(self) -> list[bytes]:
        """Return the events that a consumer sees, sorted, once for every time they are there."""
        return sorted(message.value() or b"" for message in self.committed(self.events))

    def committed(self, *topics: str) -> list[Message]:
        """Return what a reader of committed records sees now; a transaction may be open."""
        with KafkaLog(self.options, 30) as log:
            return [*log.read(log.bounds(log.places(topics)))]

    def send(
        self, topic: str, value: bytes | None, key: bytes | None = None, partition: int = 0
    ) -> None:
        """Write one record without any transaction."""
        self.produce([(topic, key, value, partition)])

    def delete(self, topic: str, partition: int, before: int) -> None:
        """Delete records as retention does."""
        self.forget(topic, {partition: before})

    def fence(self) -> Transactions:
        """Initialise a producer in the query's name, as an owner that then does not claim it."""
        self._fencing.append(Transactions(self.kafka, self.query.transactional_id))
        return self._fencing[-1]

    def beside(self, query: str) -> "Deployment":
        """Return this deployment as another query sees it."""
        other = copy(self)
        other.query = self.another(query)
        return other

    def batch(self, batch_id: int) -> SourceBatch:
        start, end = ([number * BATCH_SIZE, 0] for number in (batch_id, batch_id + 1))
        return SourceBatch(
            query_id=SPARK_QUERY,
            batch_id=batch_id,
            start={self.commands: start},
            end={self.commands: end},
        )

    def outputs(self, batch_id: int, wording: str = "") -> list[OutputRecord]:
        return [
            OutputRecord(self.events, b"order-%d" % number, value, f"ce_id\0{value.decode()}")
            for number, value in enumerate(values(batch_id, wording=wording))
        ]

    def checkpoint(self, batch_id: int, *, committed: bool) -> CheckpointPosition:
        batch = self.batch(batch_id)
        return CheckpointPosition(
            query_id=SPARK_QUERY,
            initial=self.batch(0).start,
            shards=2,
            last=batch,
            committed=committed,
        )


def values(*batch_ids: int, wording: str = "") -> list[bytes]:
    """Return what the events of these batches say, sorted."""
    return sorted(
        f"batch {batch_id} event {number}{wording}".encode()
        for batch_id in batch_ids
        for number in range(BATCH_SIZE)
    )
