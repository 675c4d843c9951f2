"""All records of one aggregate: a scan of the partition that its key belongs to."""

from collections.abc import Iterator

from confluent_kafka import Message

from compose.cli.decoding import Kind, topic_of
from compose.kafka_log import KafkaLog, Span
from compose.murmur2 import partition_of
from schemas.recorded_event import RecordedEvent
from schemas.topics import Topics
from schemas.wire.records import decode_event


class Aggregate:
    """One aggregate's records, as far as Kafka still holds them.

    A command that was sent with another partitioner than murmur2 lies elsewhere and is not found;
    its response, its rejection and its events are.
    """

    def __init__(self, log: KafkaLog, topics: Topics, aggregate_type: str, key: str) -> None:
        self._log = log
        self._topics = topics
        self._type = aggregate_type
        self._key = key.encode()

    def records(self, kind: Kind) -> Iterator[Message]:
        """Yield its records of one kind, in order.

        Raises:
            Unreachable, VerdictError: As for `KafkaLog`.
        """
        topic = topic_of(self._topics, kind, self._type)
        partition = partition_of(self._key, self._log.partitions(topic))
        span = Span(topic, partition, *self._log.bounds(topic, partition))
        return (message for message in self._log.read([span]) if message.key() == self._key)

    def events(self) -> Iterator[tuple[RecordedEvent, Message]]:
        """Yield its events, each with the record that holds it; raises as `records` does."""
        for message in self.records(Kind.EVENTS):
            yield decode_event(self._type, message.value() or b""), message
