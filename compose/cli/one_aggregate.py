"""All records of one aggregate: a scan of the partition that its key belongs to, or the archive."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from confluent_kafka import Message

from aggregates.recording import StoredEvent
from compose.cli.behind_archive import span_behind
from compose.cli.decoding import Kind, topic_of
from compose.cli.options import kafka_options
from compose.cli.output import note
from compose.configuration.settings import Settings
from compose.errors import Unreachable
from compose.kafka.log import KafkaLog, Span
from compose.kafka.murmur2 import partition_of
from compose.sql.archive import Archive, Placed
from compose.sql.reader import reader_of
from schemas.source import Source
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
        """Yield its records of one kind that Kafka still holds, in order.

        Raises:
            Unreachable, VerdictError: As for `KafkaLog`.
        """
        topic, partition = self._place(kind)
        return self._of(Span(topic, partition, *self._log.bounds(topic, partition)))

    def events(self, known: Mapping[int, int]) -> Iterator[Placed]:
        """Yield all its events behind those that are archived.

        Args:
            known: By partition, the offset up to which all is archived.

        Raises:
            VerdictError: Kafka has dropped what is not archived.
            Unreachable: As for `KafkaLog`.
        """
        topic, partition = self._place(Kind.EVENTS)
        span = span_behind(self._log, topic, partition, known.get(partition, 0))
        for message in self._of(span):
            value = message.value() or b""
            place = Source(message.topic() or "", message.partition() or 0, message.offset() or 0)
            yield Placed(place, StoredEvent(decode_event(self._type, value), value))

    def _place(self, kind: Kind) -> tuple[str, int]:
        topic = topic_of(self._topics, kind, self._type)
        return topic, partition_of(self._key, self._log.partitions(topic))

    def _of(self, span: Span) -> Iterator[Message]:
        return (message for message in self._log.read([span]) if message.key() == self._key)


class History:
    """An aggregate's events, archived ones first; Kafka is asked only by who wants more.

    Args:
        settings: Where archive and Kafka are.
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
        parts: Takes what must be closed.
    """

    def __init__(
        self, settings: Settings, aggregate_type: str, aggregate_id: str, parts: ExitStack
    ) -> None:
        self._settings = settings
        self._identity = aggregate_type, aggregate_id
        self._parts = parts

    def __iter__(self) -> Iterator[Placed]:
        """Yield the events in order, some perhaps twice.

        Raises:
            VerdictError: Kafka has dropped what is not archived.
            Unreachable: Kafka does not answer.
        """
        settings, reached = self._settings, dict[int, int]()
        try:
            archive = Archive(self._parts.enter_context(reader_of(settings)))
        except Unreachable as error:
            note(f"reading the key's partition from the beginning, without an archive: {error}")
        else:
            # asked before the history, which may grow meanwhile: so nothing lies between
            reached = archive.reached(settings.topics.events(self._identity[0]))
            yield from archive.history(*self._identity)
        log = self._parts.enter_context(KafkaLog(kafka_options(settings)))
        yield from Aggregate(log, settings.topics, *self._identity).events(reached)
