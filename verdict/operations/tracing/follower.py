"""Reads responses and events, and sends their spans to a collector; Kafka stores the position.

It is a consumer group: several processes share the work, and a restart continues. Each span is
sent at least once, always with the same id.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping

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
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from verdict.adapters.kafka.connection import ClientLog
from verdict.adapters.kafka.errors import kafka_failed
from verdict.adapters.kafka.reader import FINAL, Options, consumer_of, headers_of
from verdict.client.producer import source_of
from verdict.errors import UnreachableError
from verdict.operations.tracing.spans import TracedRecord, span_of_command, span_of_event
from verdict.wire.catalog import AggregateContext

LOG = logging.getLogger("verdict.tracing")
AT_ONCE = 500  # records: a collector refuses a request of many megabytes each time
POLL_S = 1.0
ANSWER_S = 10.0
FOLLOWING: dict[str, str | int | bool] = {
    "auto.offset.reset": "latest",  # if Kafka has dropped the next records
    "enable.partition.eof": False,
    "fetch.wait.max.ms": 500,
}


class CollectorError(UnreachableError):
    """The collector did not take spans; it may take them later."""


class SpanFollower:
    """Sends the spans of all commands whose senders trace, in steps.

    `topics` are those of events, with their aggregates, and of responses, with None.
    """

    def __init__(
        self,
        options: Options,
        group: str,
        topics: Mapping[str, AggregateContext | None],
        resource: Resource,
        collector: SpanExporter,
    ) -> None:
        self.sent = 0
        self._options = options
        self._group = group
        self._topics = topics
        self._resource = resource
        self._collector = collector
        self._consumer: Consumer | None = None
        self._has_begun = True  # Kafka stores a position for each partition that is assigned

    def step(self) -> float:
        """Send the spans of the records that have come, waiting for a second at most.

        If the collector refuses them, they are read again after `reset`. Until then another process
        of the group can have the partitions.
        """
        try:
            consumer = self._consumer = self._consumer or self._open()
            if not self._has_begun:
                self._begin(consumer, consumer.assignment())
            messages = consumer.consume(AT_ONCE, POLL_S)
            spans = [*self._spans(messages)]
            self._send(spans)
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

    def _begin(self, consumer: Consumer, assigned: list[TopicPartition]) -> None:
        """Begin at the ends where the group has no position yet, and store these positions.

        Otherwise a restart would begin at the end again, and records between would have no spans.
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

    def _spans(self, messages: Iterable[Message]) -> Iterator[ReadableSpan]:
        for message in messages:
            if (error := message.error()) is not None:
                self._report_passing(error)
            elif (span := self._span(message)) is not None:
                yield span

    def _span(self, message: Message) -> ReadableSpan | None:
        value, place = message.value(), source_of(message)
        if not isinstance(value, bytes):
            return None
        record = TracedRecord(place, value, headers_of(message) or (), message.timestamp()[1])
        context = self._topics[place.topic]
        if context is None:
            return span_of_command(record, self._resource)
        return span_of_event(record, context, self._resource)

    def _send(self, spans: list[ReadableSpan]) -> None:
        if spans and self._collector.export(spans) is not SpanExportResult.SUCCESS:
            raise CollectorError(
                f"the collector did not take {len(spans)} spans; its exporter has logged why"
            )
        self.sent += len(spans)

    def _commit(self, consumer: Consumer) -> None:
        """Store the position; if that fails for now, the spans may be sent again."""
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as failed:
            if failed.args[0].code() != KafkaError._NO_OFFSET:  # else others have the partitions
                self._report_passing(failed.args[0])

    def _report_passing(self, error: KafkaError) -> None:
        if error.code() in FINAL or error.fatal():
            raise KafkaException(error)
        LOG.warning("Kafka reports an error that passes, going on: %s", error.str())
