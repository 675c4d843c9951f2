"""Reading topics for people: what is committed, by position, without joining a group."""

import time
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from verdict.client.listing import list_topics
from verdict.errors import VerdictError
from verdict.kafka.access import ClientLog
from verdict.kafka.errors import NotThereYet, RecordsDropped, kafka_failed, settings_refused
from verdict.wire.passed_over import NOTHING_PASSED_OVER

ANSWER_S = 5.0
POLL_S = 0.1  # also how long a Ctrl-C may go unheard
# A partition has no leader for a moment, when it is new or a broker leaves; librdkafka asks again
# by itself, but for this request it does not.
ELECTING = (KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION)


class Span(NamedTuple):
    """A part of a partition: from `start` up to but without `end`; None reads on for ever."""

    topic: str
    partition: int
    start: int
    end: int | None


def log_bounds(
    options: Mapping[str, str], places: Iterable[tuple[str, int]]
) -> list[tuple[int, int]]:
    """Return what `KafkaLog.bounds` says of each (topic, partition), in their order.

    Raises:
        Unreachable: Kafka does not answer.
    """
    with KafkaLog(options) as log:
        return [log.bounds(*place) for place in places]


class KafkaLog:
    """A reader of topics; a context manager.

    Args:
        options: librdkafka's, `bootstrap.servers` and security among them.

    Attributes:
        passed_over: Places that `read` leaves out.

    Raises:
        SettingsInvalid: librdkafka does not accept the options.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.passed_over = NOTHING_PASSED_OVER
        self._servers = options["bootstrap.servers"]
        self._log = ClientLog()
        settings: dict[str, Any] = {
            **options,
            "logger": self._log,
            "group.id": "verdict-cli",  # asked for by the client, never joined
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",  # what Kafka has dropped is never jumped over
            "fetch.wait.max.ms": 50,
        }
        try:
            self._consumer = Consumer(settings)
        except KafkaException as error:
            raise settings_refused(error) from error

    def __enter__(self) -> "KafkaLog":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has.

        Raises:
            Unreachable: Kafka does not answer.
            VerdictError: There is no such topic.
        """
        found = self._described(topic)
        if found.error is not None:
            raise VerdictError(
                f"Kafka at {self._servers} has no topic {topic} ({found.error.str()}): "
                "start `verdict up`, or create it with `verdict topics create`"
            )
        return len(found.partitions)

    def exists(self, topic: str) -> bool:
        """Return whether there is such a topic.

        Raises:
            Unreachable: Kafka does not answer.
        """
        error = self._described(topic).error
        return error is None or error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset that is kept, and the one behind the last committed record."""
        place, deadline = TopicPartition(topic, partition), time.monotonic() + ANSWER_S
        while True:
            try:
                low, high = self._consumer.get_watermark_offsets(place, timeout=ANSWER_S)
                return low, high
            except KafkaException as error:
                if error.args[0].code() not in ELECTING or time.monotonic() > deadline:
                    what = f"offsets of {topic}-{partition} cannot be read"
                    raise self._failed(what, error) from error
                time.sleep(POLL_S)

    def first_since(self, topic: str, partition: int, millis: int) -> int:
        """Return the offset of the first record of that Kafka time or later, else the end."""
        asked = [TopicPartition(topic, partition, millis)]
        try:
            [found] = self._consumer.offsets_for_times(asked, timeout=ANSWER_S)
        except KafkaException as error:
            raise self._failed(f"times of {topic}-{partition} cannot be read", error) from error
        return found.offset if found.offset >= 0 else self.bounds(topic, partition)[1]

    def read(self, spans: Iterable[Span]) -> Iterator[Message]:
        """Yield the records of `spans`, in order within each partition, and all of them.

        But for those in `passed_over`.

        Raises:
            RecordsDropped: Kafka has dropped some before they were read; those before are yielded.
            NotThereYet: A span without an end begins behind the end of its partition.
            Unreachable: Kafka does not answer any more.
            VerdictError: A topic is gone.
        """
        ends = {(s.topic, s.partition): s for s in spans if s.end is None or s.start < s.end}
        self._consumer.assign(
            [TopicPartition(s.topic, s.partition, s.start) for s in ends.values()]
        )
        while ends:
            for message in self._consumer.consume(1000, timeout=POLL_S):
                place = str(message.topic()), message.partition() or 0
                span = ends.get(place)
                if span is None:
                    continue
                if self._is_end(message):
                    done = span.end is not None
                else:
                    offset = message.offset() or 0
                    wanted = span.end is None or offset < span.end
                    if wanted and not self.passed_over.holds(*place, offset):
                        yield message
                    done = span.end is not None and offset + 1 >= span.end
                if done:
                    del ends[place]

    def _described(self, topic: str) -> Any:
        try:
            return list_topics(self._consumer, ANSWER_S, self._last_failure, topic).topics[topic]
        except KafkaException as error:
            raise self._failed(f"topic {topic} cannot be read", error) from error

    def _is_end(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return False
        if error.code() == KafkaError._PARTITION_EOF:
            return True
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise self._out_of_range(
                str(message.topic()), message.partition() or 0, message.offset() or 0
            )
        raise self._failed(f"{message.topic()} cannot be read", KafkaException(error))

    def _out_of_range(self, topic: str, partition: int, needed: int) -> VerdictError:
        earliest, end = self.bounds(topic, partition)
        if needed < earliest:
            return RecordsDropped(topic, partition, needed, earliest)
        return NotThereYet(topic, partition, needed, end)

    def _failed(self, what: str, error: KafkaException) -> VerdictError:
        return kafka_failed(what, self._servers, error, self._last_failure())

    def _last_failure(self) -> str:
        self._consumer.poll(0)  # hands over what was logged
        return self._log.last_failure
