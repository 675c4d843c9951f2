"""Finds records that unpack to more than the JVM of Spark can hold, after it ran out of memory.

Kafka bounds a batch by its compressed bytes, and 0.4 MB can unpack to 400. Java's client unpacks a
whole record first, so Spark ends at each start.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as KafkaPartition

from verdict.adapters.kafka.connection import ClientLog, Deadline, KafkaConfig
from verdict.adapters.kafka.offsets import TopicOffsets, each_partition
from verdict.adapters.kafka.reader import consumer_of, headers_of, place_of
from verdict.model.source import Source

OVERSIZED_BYTES = 16 * 2**20  # our topics take less, unless it is compressed
ONE_AT_A_TIME: dict[str, str | int | bool] = {
    "queued.min.messages": 1,
    "queued.max.messages.kbytes": 1024,
    "fetch.message.max.bytes": 1,  # Kafka sends a whole batch nevertheless
    "isolation.level": "read_uncommitted",
    "auto.offset.reset": "earliest",
}


@dataclass(frozen=True, slots=True)
class OversizedRecord:
    """A record with many bytes; `size` is None if no client can unpack it."""

    source: Source
    size: int | None

    def __str__(self) -> str:
        size = "more than a client takes" if self.size is None else f"{self.size:,} bytes"
        return f"{self.source} unpacks to {size}"


def oversized_records(
    kafka: KafkaConfig, starts: TopicOffsets, rows: int, seconds: float
) -> list[OversizedRecord]:
    """Return the oversized ones among the next records, as far as they are found in time."""
    consumer = consumer_of(kafka.settings, ClientLog(), ONE_AT_A_TIME)
    try:
        return list(_found(consumer, starts, rows, Deadline(seconds)))
    finally:
        consumer.close()


def _found(
    consumer: Consumer, starts: TopicOffsets, rows: int, deadline: Deadline
) -> Iterator[OversizedRecord]:
    ends = {place: start + rows for place, start in each_partition(starts)}
    consumer.assign([KafkaPartition(*place, end - rows) for place, end in ends.items()])
    while ends and (left := deadline.left()) and (message := consumer.poll(left)) is not None:
        place = place_of(message)
        if place not in ends:
            continue
        # of a batch that cannot be unpacked the client names the first offset
        offset, size = max(message.offset() or 0, ends[place] - rows), _size(message)
        if size is None or size > OVERSIZED_BYTES:
            yield OversizedRecord(Source(*place, offset), size)
        if _is_last(message) or offset + 1 >= ends[place]:
            del ends[place]


def _size(message: Message) -> int | None:
    if (error := message.error()) is not None:
        return None if error.code() == KafkaError._BAD_COMPRESSION else 0
    values = (value for _, value in headers_of(message) or ())
    return sum(len(part or b"") for part in (message.key(), message.value(), *values))


def _is_last(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() in (
        KafkaError._PARTITION_EOF, KafkaError._BAD_COMPRESSION
    )  # fmt: skip
