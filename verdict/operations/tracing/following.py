"""Reads responses and events, and sends their spans to a collector; Kafka stores the position.

It is a consumer group: several processes share the work, and a restart continues. Each span is
sent at least once, always with the same id.
"""

import logging
from collections.abc import Iterable, Mapping

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan

from verdict.adapters.kafka.connection import ClientLog
from verdict.adapters.kafka.errors import kafka_failed
from verdict.adapters.kafka.reader import FINAL, Options, consumer_of, headers_of
from verdict.client.producer import source_of
from verdict.model.source import Source
from verdict.operations.tracing.sending import Collector, export
from verdict.operations.tracing.spans import TracedRecord, span_of_command, span_of_event
from verdict.wire.catalog import AggregateContext

LOG = logging.getLogger("verdict.tracing")
AT_ONCE = 500  # records
POLL_S = 1.0
ANSWER_S = 10.0
FOLLOWING: dict[str, str | int | bool] = {
    "auto.offset.reset": "latest",  # where Kafka has dropped what came next
    "enable.partition.eof": False,
    "fetch.wait.max.ms": 500,
}


Found = Mapping[Source, ReadableSpan]


class SpanFollower:
    """The spans of all commands whose senders trace, sent in steps.

    Args:
        options: librdkafka's, `bootstrap.servers` and security among them.
        group: Of consumers, by which Kafka stores the position.
        topics: Of events, with their aggregates, and of responses, with None.
        resource: The service, as traces show it.
        collector: Takes the spans.

    Attributes:
        sent: How many spans the collector took.
    """

    def __init__(
        self,
        options: Options,
        group: str,
        topics: Mapping[str, AggregateContext | None],
        resource: Resource,
        collector: Collector,
    ) -> None:
        self.sent = 0
        self._options = options
        self._group = group
        self._topics = topics
        self._resource = resource
        self._collector = collector
        self._consumer: Consumer | None = None
        self._has_begun = True  # Kafka stores a position for each partition that is assigned
        self._refused: Found = {}
        self._read_again: set[Source] = set()  # whose spans are sent already

    def step(self) -> float:
        """Send the spans of the records that have come, waiting for a second at most.

        Spans that the collector refused are sent first. Until it takes them, this process is not
        in the group, so that another one can have its partitions.

        Raises:
            CollectorError: The collector does not take spans.
            UnreachableError, VerdictError: Kafka refuses.
        """
        self._read_again |= self._refused.keys()
        self._send(self._refused)
        try:
            consumer = self._consumer = self._consumer or self._open()
            if not self._has_begun:
                self._begin(consumer, consumer.assignment())
            messages = consumer.consume(AT_ONCE, POLL_S)
            self._send(self._spans(messages))
            if messages:
                self._commit(consumer)
        except KafkaException as error:
            servers = str(self._options.get("bootstrap.servers"))
            raise kafka_failed("responses cannot be read", servers, error, "") from error
        return 0.0

    def reset(self) -> None:
        """Leave the group."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _open(self) -> Consumer:
        consumer = consumer_of(self._options, ClientLog(), FOLLOWING | {"group.id": self._group})
        consumer.subscribe([*self._topics], on_assign=self._begin)
        return consumer

    def _send(self, spans: Found) -> None:
        self._refused = spans
        export(self._collector, [*spans.values()])
        self._refused = {}
        self.sent += len(spans)

    def _begin(self, consumer: Consumer, assigned: list[TopicPartition]) -> None:
        """Begin at the ends where the group has no position yet, and store these positions.

        The first start wants no spans of last year. Without a stored position, a restart would
        begin at the end again, and records that came in between would have no spans.
        """
        places = assigned
        self._has_begun = False
        try:
            places = consumer.committed(assigned, ANSWER_S)
            new = [place for place in places if place.offset == OFFSET_INVALID]
            for place in new:
                _, place.offset = consumer.get_watermark_offsets(place, ANSWER_S)
            if new:
                consumer.commit(offsets=new, asynchronous=False)
            self._has_begun = True
        except KafkaException as failed:
            self._report_passing(failed.args[0])
        consumer.assign(places)

    def _spans(self, messages: Iterable[Message]) -> Found:
        found = {}
        for message in messages:
            if (error := message.error()) is not None:
                self._report_passing(error)
                continue
            place, span = source_of(message), self._span(message)
            if span is not None and place not in self._read_again:
                found[place] = span
            self._read_again.discard(place)
        return found

    def _span(self, message: Message) -> ReadableSpan | None:
        value = message.value()
        if not isinstance(value, bytes):
            return None
        recorded = TracedRecord(
            source_of(message),
            value,
            headers_of(message) or (),
            message.timestamp()[1],
        )
        context = self._topics[recorded.place.topic]
        if context is None:
            return span_of_command(recorded, self._resource)
        return span_of_event(recorded, context, self._resource)

    def _commit(self, consumer: Consumer) -> None:
        """Store the position; where that fails for now, the spans may be sent again."""
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as failed:
            if failed.args[0].code() == KafkaError._NO_OFFSET:
                return  # another process has our partitions by now
            self._report_passing(failed.args[0])

    def _report_passing(self, error: KafkaError) -> None:
        if error.code() in FINAL or error.fatal():
            raise KafkaException(error)
        LOG.warning("Kafka reports an error that passes, going on: %s", error.str())
