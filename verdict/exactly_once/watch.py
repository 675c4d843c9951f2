"""Notices a take-over without having anything to publish."""

from confluent_kafka import KafkaError, Message, TopicPartition

from verdict.exactly_once.claim import taken_over
from verdict.exactly_once.markers import read_marker
from verdict.exactly_once.query import Query
from verdict.kafka.access import ClientLog, Kafka
from verdict.kafka.log import KafkaLog, consumer_of
from verdict.wire.codec import Undecodable
from verdict.wire.marker import Marker
from verdict.wire.records import decode
from verdict.wire.spans import Partition

BACK = 16  # records: somebody may have taken over since we did
AT_ONCE = 1000
IDLE: dict[str, str | int | bool] = {"fetch.wait.max.ms": 5000, "auto.offset.reset": "earliest"}


class Watch:
    """Follows the markers of a query; disturbs nobody.

    An owner that is replaced is fenced, but has to try to publish to find that out. Without
    commands it would stand there for ever, and look as if it decided.
    """

    def __init__(self, kafka: Kafka, query: Query, owner: str) -> None:
        """Begin a little before the markers of now, among which may be the claim of `owner`.

        Raises:
            Unreachable: Kafka does not answer within the transaction timeout.
        """
        self._kafka = kafka
        self._query = query
        self._owner = owner
        self._last: Marker | None = None
        place = Partition(query.markers, 0)
        with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
            kept = log.bounds([place])[place]
        self._consumer = consumer_of(kafka.settings, ClientLog(), IDLE)
        self._consumer.assign([TopicPartition(*place, max(kept.start, kept.end - BACK))])

    def check(self) -> None:
        """Return at once while the newest marker that has arrived is the owner's.

        What goes wrong on the way is left to those who publish: they know what to do about it.

        Raises:
            TakenOver: It is somebody else's.
        """
        for message in self._consumer.consume(AT_ONCE, 0):
            error = message.error()
            if error is None and message.key() == self._query.key:
                self._last = _marker(message) or self._last
            elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                self._compare()

    def look(self) -> None:
        """Return when the newest marker that there is now is the owner's.

        Raises:
            TakenOver: It is somebody else's.
            Unreachable: Kafka does not answer.
        """
        found = read_marker(self._kafka, self._query, wait=False).marker
        self._last = self._last if found is None else found
        self._compare()

    def close(self) -> None:
        """Let the consumer go."""
        self._consumer.close()

    def _compare(self) -> None:
        if self._last is not None and self._last.owner != self._owner:
            raise taken_over(self._query, self._last)


def _marker(message: Message) -> Marker | None:
    try:
        value = message.value()
        return decode(Marker, value) if isinstance(value, bytes) else None
    except Undecodable:
        return None
