"""Writes records outside of the decider's transactions, and uses offsets up without a record.

Kafka counts the records of an aborted transaction, and no reader of committed records sees them.
So a partition whose end is too low can continue above any offset that somebody has read up to.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from verdict.adapters.kafka.connection import ClientLog, ClientOptions, KafkaConfig
from verdict.adapters.kafka.errors import kafka_failed
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import OUTPUT_BYTES

ANSWER_S = 30.0
UNUSED = b"unused"  # a key: a compacted topic refuses records without one
PER_TRANSACTION = 2_000
UNUSED_PER_TRANSACTION = 100_000
IDEMPOTENT = {"enable.idempotence": True, "acks": "all", "compression.type": "lz4"}

Record = Mapping[str, Any]
"""As `Producer.produce` takes it: `topic`, `partition`, `key`, `value`, `headers`."""


class Appender:
    """A transactional producer; a transaction that a killed one left open is aborted first."""

    def __init__(self, kafka: KafkaConfig, transactional_id: str) -> None:
        self._servers = str(kafka.settings.get("bootstrap.servers"))
        self._seconds = kafka.transaction_timeout_s
        settings: ClientOptions = {
            **kafka.settings,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": int(self._seconds * 1000),
            "message.max.bytes": OUTPUT_BYTES,
            "compression.type": "lz4",
            "logger": ClientLog(),
        }
        self._producer = Producer(settings)
        self._call(self._producer.init_transactions, self._seconds)

    def use_up(self, counts: Mapping[TopicPartition, int]) -> None:
        """Move the end of each partition by at least so many offsets."""
        for place, count in counts.items():
            for start in range(0, count, UNUSED_PER_TRANSACTION):
                few = min(UNUSED_PER_TRANSACTION, count - start)
                self._write([{**place._asdict(), "key": UNUSED}] * few)
                self._call(self._producer.abort_transaction, self._seconds)

    def append(self, records: Iterable[Record]) -> int:
        """Write all records, in their order; return how many there were."""
        records, count = iter(records), 0
        while some := [*islice(records, PER_TRANSACTION)]:
            self._write(some)
            self._call(self._producer.commit_transaction, self._seconds)
            count += len(some)
        return count

    def _write(self, records: Iterable[Record]) -> None:
        self._call(self._producer.begin_transaction)
        if (error := produce(self._producer, records, self._seconds)) is not None:
            raise self._failed(error)

    def _call(self, call: Callable[..., object], *arguments: float) -> None:
        try:
            call(*arguments)
        except KafkaException as error:
            raise self._failed(error) from error

    def _failed(self, error: KafkaException) -> Exception:
        return kafka_failed("records cannot be appended", self._servers, error)


def write_all(options: Mapping[str, str | int], records: Iterable[Record], what: str) -> None:
    """Write all of `records`, in their order, without a transaction."""
    settings: ClientOptions = {**options, **IDEMPOTENT, "logger": ClientLog()}
    if (error := produce(Producer(settings), records, ANSWER_S)) is not None:
        raise kafka_failed(what, str(options["bootstrap.servers"]), error)


def produce(producer: Producer, records: Iterable[Record], seconds: float) -> KafkaException | None:
    """Return when Kafka has all of `records`, or why it has not."""
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    for record in records:
        try:
            producer.produce(on_delivery=delivered, **record)
        except BufferError:  # it is full: wait for what is under way
            producer.flush(seconds)
            producer.produce(on_delivery=delivered, **record)
    if producer.flush(seconds) and not failed:
        failed.append(KafkaError(KafkaError._TIMED_OUT))
    return KafkaException(failed[0]) if failed else None
