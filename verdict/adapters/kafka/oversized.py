"""Records that no JVM of ours can unpack: which they are, when one has died of them.

Kafka bounds a batch by its compressed bytes, and 0.4 MB can unpack to 400. Java's client makes the
whole of a record before anybody can look at it, so Spark dies of one, and at every start again.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as KafkaPartition

from verdict.adapters.kafka.connection import ClientLog, Deadline, KafkaConfig
from verdict.adapters.kafka.message_headers import headers_of
from verdict.adapters.kafka.offsets import AnyOffsets, each_partition
from verdict.adapters.kafka.reader import consumer_of
from verdict.model.source import Source
from verdict.wire.partitions import TopicPartition

GIANT_BYTES = 16 * 2**20  # more than a topic of ours takes, unless it was packed
FEW: dict[str, str | int | bool] = {  # of what is read ahead: one giant at a time is enough
    "queued.min.messages": 1,
    "queued.max.messages.kbytes": 1024,
    "fetch.message.max.bytes": 1,  # of which Kafka gives a whole batch
    "isolation.level": "read_uncommitted",
    "auto.offset.reset": "earliest",
}


@dataclass(frozen=True, slots=True)
class OversizedRecord:
    """A record with many more bytes than its topic takes; `size` is None when it is beyond all."""

    source: Source
    size: int | None

    def __str__(self) -> str:
        size = "more than a client takes" if self.size is None else f"{self.size:,} bytes"
        return f"{self.source} unpacks to {size}"


def oversized_records(
    kafka: KafkaConfig, starts: AnyOffsets, rows: int, seconds: float
) -> list[OversizedRecord]:
    """Return the giants among the records that come next, as far as they are found in time.

    Raises:
        InvalidSettingsError: The client does not accept the settings.
    """
    consumer = consumer_of(kafka.settings, ClientLog(), FEW)
    try:
        return list(_found(consumer, starts, rows, Deadline(seconds)))
    finally:
        consumer.close()


def _found(
    consumer: Consumer, starts: AnyOffsets, rows: int, deadline: Deadline
) -> Iterator[OversizedRecord]:
    ends = {place: start + rows for place, start in each_partition(starts)}
    consumer.assign([KafkaPartition(*place, end - rows) for place, end in ends.items()])
    while ends and (left := deadline.left()) and (message := consumer.poll(left)) is not None:
        place = TopicPartition(message.topic() or "", message.partition() or 0)
        if place not in ends:
            continue
        # of a batch that cannot be unpacked the client tells the first place, which may be behind
        offset, size = max(message.offset() or 0, ends[place] - rows), _size(message)
        if size is None or size > GIANT_BYTES:
            yield OversizedRecord(Source(*place, offset), size)
        if _is_last(message) or offset + 1 >= ends[place]:
            del ends[place]


def _size(message: Message) -> int | None:
    """Return the bytes of a record, None when they are too many to unpack."""
    if (error := message.error()) is not None:
        return None if error.code() == KafkaError._BAD_COMPRESSION else 0
    values = (value for _, value in headers_of(message) or ())
    return sum(len(part or b"") for part in (message.key(), message.value(), *values))


def _is_last(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() in (
        KafkaError._PARTITION_EOF, KafkaError._BAD_COMPRESSION
    )  # fmt: skip
