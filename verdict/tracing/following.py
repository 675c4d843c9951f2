"""Follows answers and events and hands spans to a collector; how far, Kafka remembers.

As a consumer group, so that several share the work and who is started again goes on. What a
collector did not take is sent again: at least once, under the same ids.
"""

import logging
from collections.abc import Callable, Mapping

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

from verdict.client.outbox import source_of
from verdict.kafka.access import ClientLog
from verdict.kafka.errors import kafka_failed
from verdict.kafka.log import FINAL, Options, consumer_of
from verdict.kafka.message_headers import headers_of
from verdict.tracing.sending import Collector, Sending
from verdict.tracing.spans import Recorded, span_of_command, span_of_event
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


class Spans:
    """The spans of all commands whose senders trace.

    Args:
        options: librdkafka's, `bootstrap.servers` and security among them.
        group: Of consumers, by which Kafka knows how far they have come.
        topics: Of events, with their aggregates, and of responses, with None.
        resource: The service, as traces show it.
        collector: Takes the spans.
    """

    def __init__(
        self,
        options: Options,
        group: str,
        topics: Mapping[str, AggregateContext | None],
        resource: Resource,
        collector: Collector,
    ) -> None:
        self._servers = str(options.get("bootstrap.servers"))
        self._topics = topics
        self._resource = resource
        self._collector = collector
        self._consumer: Consumer = consumer_of(
            options, ClientLog(), FOLLOWING | {"group.id": group}
        )
        self._begun = True  # where Kafka knows of each partition of ours how far we are
        self._consumer.subscribe([*topics], on_assign=self._begin)

    def follow(self, stopped: Callable[[float], bool]) -> int:
        """Send spans until stopped; return how many were taken.

        Args:
            stopped: Waits for so many seconds at most; tells whether this shall end.

        Raises:
            Unreachable, VerdictError: Kafka refuses, or does not answer for good.
        """
        sent = 0
        try:
            with Sending(self._collector, stopped, self._stay) as sending:
                while not stopped(0):
                    found, came = self._found()
                    if not sending.send(found):
                        break
                    sent += len(found)
                    self._consumer.resume(self._consumer.assignment())
                    if came:
                        self._note_how_far()
        except KafkaException as error:
            raise kafka_failed("answers cannot be read", self._servers, error, "") from error
        finally:
            self._consumer.close()
        return sent

    def _found(self) -> tuple[list[ReadableSpan], bool]:
        """Return the spans of the records that have come, and whether any have."""
        if not self._begun:
            self._begin(self._consumer, self._consumer.assignment())
        messages = self._consumer.consume(AT_ONCE, POLL_S)
        return [*filter(None, map(self._span, messages))], bool(messages)

    def _stay(self) -> None:
        """Stay in the group while the collector is away, and read nothing on.

        Who does not poll for five minutes is thrown out, and until then nobody else gets anything.
        """
        self._consumer.pause(self._consumer.assignment())
        message = self._consumer.poll(0)
        if message is not None and message.error() is None:  # of partitions that have just come
            place = source_of(message)
            self._consumer.seek(TopicPartition(place.topic, place.partition, place.offset))

    def _begin(self, consumer: Consumer, assigned: list[TopicPartition]) -> None:
        """Begin at the ends where nobody of the group ever did, and let Kafka remember that.

        Whoever begins to trace wants no spans of last year. A partition in which nothing came
        before the next start would begin at its end again otherwise: what came in between had none.
        """
        places = assigned
        self._begun = False
        try:
            places = consumer.committed(assigned, ANSWER_S)
            new = [place for place in places if place.offset == OFFSET_INVALID]
            for place in new:
                _, place.offset = consumer.get_watermark_offsets(place, ANSWER_S)
            if new:
                consumer.commit(offsets=new, asynchronous=False)
            self._begun = True
        except KafkaException as failed:
            self._see_that_it_passes(failed.args[0])
        consumer.assign(places)

    def _span(self, message: Message) -> ReadableSpan | None:
        if (error := message.error()) is not None:
            self._see_that_it_passes(error)
            return None
        value = message.value()
        if not isinstance(value, bytes):
            return None
        recorded = Recorded(
            source_of(message),
            value,
            headers_of(message) or (),
            message.timestamp()[1],
        )
        context = self._topics[recorded.place.topic]
        if context is None:
            return span_of_command(recorded, self._resource)
        return span_of_event(recorded, context, self._resource)

    def _note_how_far(self) -> None:
        """Let Kafka remember it; where it cannot now, what was sent is sent again some day."""
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as failed:
            if failed.args[0].code() == KafkaError._NO_OFFSET:
                return  # others have our partitions by now
            self._see_that_it_passes(failed.args[0])

    def _see_that_it_passes(self, error: KafkaError) -> None:
        if error.code() in FINAL or error.fatal():
            raise KafkaException(error)
        LOG.warning("Kafka does not answer as it should, trying again: %s", error.str())
