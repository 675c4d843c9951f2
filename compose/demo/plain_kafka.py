"""Kafka as any other service uses it, with nothing of verdict."""

from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from verdict.errors import UnreachableError

TIMEOUT_S = 30.0


class PlainKafka:
    """A producer that waits for nothing but `flush`, and a consumer of what is there."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._options = {"bootstrap.servers": bootstrap_servers, "log_level": 2}
        # Java's default partitioner, so that a key has one partition whoever sends
        self._producer = Producer({**self._options, "partitioner": "murmur2_random"})

    def produce(self, topic: str, key: bytes, value: bytes, **headers: str) -> None:
        """Write a record."""
        self._producer.produce(topic, value, key, headers={**headers})
        self._producer.poll(0)

    def flush(self) -> None:
        """Return when Kafka has all that was produced.

        Raises:
            UnreachableError: It does not take it.
        """
        if left := self._producer.flush(TIMEOUT_S):
            raise UnreachableError(f"{left} records are not acknowledged after {TIMEOUT_S:g} s")

    def records(self, topic: str) -> list[Message]:
        """Return what is on a topic now, each partition's records in their order."""
        reads = {"group.id": "demo", "isolation.level": "read_committed"}
        consumer = Consumer({**self._options, **reads, "enable.partition.eof": True})
        try:
            partitions = consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
            return [*_until_the_end(consumer, len(partitions))]
        finally:
            consumer.close()


def _until_the_end(consumer: Consumer, partitions: int) -> Iterator[Message]:
    while partitions:
        message = consumer.poll(TIMEOUT_S)
        if message is None:
            raise UnreachableError(f"Kafka gave no record for {TIMEOUT_S:g} s")
        if (error := message.error()) is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            partitions -= 1
