"""The markers of a query as they come, for who disturbs nobody."""

from typing import NamedTuple

from confluent_kafka import KafkaError, Message, TopicPartition

from verdict.exactly_once.query import Query
from verdict.kafka.access import ClientLog, Kafka
from verdict.kafka.log import KafkaLog, consumer_of
from verdict.wire.codec import Undecodable
from verdict.wire.marker import Marker
from verdict.wire.records import decode
from verdict.wire.spans import Partition

AT_ONCE = 1000
IDLE: dict[str, str | int | bool] = {"fetch.wait.max.ms": 2000, "auto.offset.reset": "earliest"}


class Arrived(NamedTuple):
    """A marker and when Kafka got it, in milliseconds."""

    marker: Marker
    at: int


class MarkerFeed:
    """Follows the markers of a query, from a little before those of now.

    Args:
        kafka: Where they are.
        query: Whose they are.
        back: How many records before the end it begins.

    Raises:
        Unreachable: Kafka does not answer within the transaction timeout.
        VerdictError: There is no topic of markers.
    """

    def __init__(self, kafka: Kafka, query: Query, back: int) -> None:
        self._key = query.key
        self._whole = False  # what was there at the beginning has arrived
        place = Partition(query.markers, 0)
        with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
            kept = log.bounds([place])[place]
        self._consumer = consumer_of(kafka.settings, ClientLog(), IDLE)
        self._consumer.assign([TopicPartition(*place, max(kept.start, kept.end - back))])

    def new(self) -> tuple[list[Arrived], bool]:
        """Return at once those that have arrived since, and whether all before them have.

        What goes wrong on the way is left to those who publish: they know what to do about it.
        """
        found = []
        for message in self._consumer.consume(AT_ONCE, 0):
            error = message.error()
            if error is not None:
                self._whole |= error.code() == KafkaError._PARTITION_EOF
            elif message.key() == self._key and (marker := _marker(message)) is not None:
                found.append(Arrived(marker, message.timestamp()[1]))
        return found, self._whole

    def close(self) -> None:
        """Let the consumer go."""
        self._consumer.close()


def _marker(message: Message) -> Marker | None:
    try:
        value = message.value()
        return decode(Marker, value) if isinstance(value, bytes) else None
    except Undecodable:
        return None
