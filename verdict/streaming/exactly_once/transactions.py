"""One transactional producer, from its initialisation until it is discarded."""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from verdict.adapters.kafka.connection import ClientLog, Deadline, KafkaConfig
from verdict.adapters.kafka.offsets import TopicOffsets, each_partition
from verdict.errors import UnreachableError, VerdictError
from verdict.streaming.exactly_once.call_errors import (
    Failures,
    TransactionCall,
    TransactionFailedError,
)
from verdict.streaming.exactly_once.output_chunks import Record
from verdict.streaming.exactly_once.poll_thread import CallTimedOutError, PollThread
from verdict.wire.dead_letter_record import Pairs
from verdict.wire.headers import pairs
from verdict.wire.partitions import partition_of
from verdict.wire.topics import OUTPUT_BYTES

Listed = list[tuple[str, str | bytes | None]]

POLL_EVERY = 1000  # records
ANY = -1  # partition: the client chooses
GRACE_S = 5.0  # after its timeout, until a call counts as hung

LOG = logging.getLogger("verdict.streaming.exactly_once")

Answer = TypeVar("Answer")

DEFAULTS: dict[str, str | int] = {
    "linger.ms": 5,
    "compression.type": "lz4",
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 256 * 1024,
    "reconnect.backoff.max.ms": 1000,  # else a Kafka that is back is found by chance, 10 s later
}


class Transactions:
    """A producer that fences every earlier one with its transactional id.

    Each method raises `TransactionFailedError` on any error, on a timeout, and if a connection was
    lost during the commit. The producer must not be used after that: librdkafka lacks KIP-890, so
    an earlier request could still end the *next* transaction of the same producer.
    """

    def __init__(self, kafka: KafkaConfig, transactional_id: str) -> None:
        """Connect and fence; what a former producer left open is resolved when this returns."""
        self._kafka = kafka
        self._id = transactional_id
        self._log = ClientLog()
        self._failed = Failures()
        self._deadline = Deadline(kafka.transaction_timeout_s)
        self._begun = 0
        self._stuck = self._closed = False
        self._limit_s = kafka.transaction_timeout_s + GRACE_S
        self._group = _group(kafka, transactional_id)
        self._producer = Producer(
            {
                **DEFAULTS,
                **kafka.settings,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": int(kafka.transaction_timeout_s * 1000),
                "acks": "all",
                "message.max.bytes": OUTPUT_BYTES,  # not less: what cannot be sent ends the service
                "partitioner": "murmur2_random",
                # a lost connection is logged for certain at this level only, see ClientLog
                "debug": ",".join(filter(None, (str(kafka.settings.get("debug", "")), "broker"))),
                "logger": self._log,
                "on_delivery": self._failed.delivered,
                "delivery.report.only.error": True,
            }
        )
        self._thread = PollThread(self._producer, transactional_id)
        self._initialise()

    def begin(self) -> None:
        """Begin a transaction."""
        self._deadline = Deadline(self._kafka.transaction_timeout_s)
        self._begun = 0
        self._call("begin", self._producer.begin_transaction)

    def produce(
        self, topic: str, key: bytes | None, value: bytes | None, headers: str | Pairs = ""
    ) -> None:
        """Take a record into the transaction; waits while the queue is full."""
        listed: Listed = pairs(headers) if isinstance(headers, str) else [*headers]
        with TransactionCall("produce", self._failed):
            self._produce(topic, key, value, listed)

    def produce_all(self, records: Iterable[Record]) -> None:
        """Take many records into the transaction; waits while the queue is full."""
        with TransactionCall("produce", self._failed):
            for topic, key, value, headers, _ in records:
                self._produce(topic, key, value, pairs(headers))

    def _produce(self, topic: str, key: bytes | None, value: bytes | None, headers: Listed) -> None:
        partition = self._partition(topic, key)
        while True:
            try:
                self._producer.produce(topic, value, key, partition, headers=headers)
                break
            except BufferError:
                self._producer.poll(min(0.1, self._left()))
        self._begun += 1
        if self._begun % POLL_EVERY == 0:
            self._thread.poll()
            self._failed.check()

    def _partition(self, topic: str, key: bytes | None) -> int:
        """Return where a record goes: in our own topics never to partitions that were added."""
        if (count := self._kafka.outputs.get(topic)) is None:
            return ANY
        return self._begun % count if key is None else _partition_of(key, count)

    def send_offsets(self, offsets: TopicOffsets) -> None:
        """Let the transaction commit `offsets` for the group named like the producer."""
        places = [TopicPartition(*place, offset) for place, offset in each_partition(offsets)]

        def send() -> None:
            self._producer.send_offsets_to_transaction(places, self._group, self._left())

        self._call("send offsets", send)

    def flush(self) -> None:
        """Return when every record so far is in Kafka."""

        def flush() -> None:
            while self._producer.flush(min(0.5, self._left())):
                self._failed.check()
            self._failed.check(is_complete=True)

        self._call("flush", flush)

    def commit(self) -> None:
        """Commit; when this returns, everything since `begin` is visible together."""

        def commit() -> int:
            self._thread.poll()
            lost_before = self._log.lost_connections
            self._producer.commit_transaction(self._left())
            self._thread.poll()
            return self._log.lost_connections - lost_before

        if self._call("commit", commit):
            raise TransactionFailedError(
                f"a connection was lost during the commit: {self._log.last_failure}"
            )

    def abandon(self) -> None:
        """Abort what is open if Kafka lets us, so that readers need not wait for its timeout."""

        def abort() -> None:
            self._producer.purge()
            self._producer.abort_transaction(self._kafka.transaction_timeout_s / 3)

        if not self._stuck:
            with suppress(TransactionFailedError):  # fenced or unreachable: Kafka aborts by itself
                self._call("abort", abort)

    def close(self) -> None:
        """Destroy the producer, without waiting for what it has to send."""
        if self._closed:
            return
        self._closed = True
        del self._producer
        if not self._stuck:
            with suppress(CallTimedOutError, KafkaException):  # a fenced one may refuse even that
                self._thread.close(self._limit_s)

    def _initialise(self) -> None:
        try:
            self._call("initialise", lambda: self._producer.init_transactions(self._left()))
        except TransactionFailedError as broken:
            self.close()
            raise (UnreachableError if broken.passing else VerdictError)(
                f"producer {self._id} could not be initialised at {self._kafka} within "
                f"{self._deadline.seconds:g} s ({self._log.last_failure or broken}): see that "
                "Kafka runs, and that this user may write under that transactional id"
            ) from broken

    def _left(self) -> float:
        left = self._deadline.left()
        if not left:
            raise TransactionFailedError(
                f"the transaction was not done within {self._deadline.seconds:g} s"
                + (f" (last failure: {self._log.last_failure})" if self._log.last_failure else "")
            )
        return left

    def _call(self, what: str, call: Callable[[], Answer]) -> Answer:
        def translated() -> Answer:
            with TransactionCall(what, self._failed):
                return call()

        try:
            return self._thread.call(self._limit_s, what, translated)
        except CallTimedOutError as error:
            self._stuck = True
            LOG.error("%s, long after its timeout: another producer replaces this one", error)
            raise TransactionFailedError(str(error)) from None


# an event and its response have the same key
_partition_of = lru_cache(maxsize=1000)(partition_of)


def _group(kafka: KafkaConfig, name: str) -> object:
    """Return what names the group in a transaction; no consumer ever joins it."""
    consumer = Consumer({**kafka.settings, "group.id": name, "logger": ClientLog()})
    try:
        return consumer.consumer_group_metadata()
    finally:
        consumer.close()
