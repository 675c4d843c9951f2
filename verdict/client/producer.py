"""The producer: commands in their order, each once; no loss is silent."""

from collections import deque
from collections.abc import Mapping
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from verdict.client.errors import NotDeliveredError
from verdict.client.pending import LOG, Pending, PendingError
from verdict.client.pending_commands import PendingCommands
from verdict.model.source import Source
from verdict.wire.headers import REPLY_TO

REMEMBERED_LOSSES = 1_000


class CommandProducer:
    """Sends commands, and notes for each its position in Kafka or its loss."""

    def __init__(
        self,
        bootstrap_servers: str,
        config: Mapping[str, str],
        waiting: PendingCommands,
        trouble: PendingError,
        reply_to: bytes | None = None,
    ) -> None:
        self._headers: list[tuple[str, str | bytes | None]] = (
            [] if reply_to is None else [(REPLY_TO, reply_to)]
        )
        self._waiting = waiting
        self._trouble = trouble
        self._losses: deque[NotDeliveredError] = deque(maxlen=REMEMBERED_LOSSES)
        self.producer = Producer(
            {
                "client.id": "verdict-client",
                "linger.ms": 2,
                "delivery.timeout.ms": 30_000,
                "reconnect.backoff.max.ms": 1_000,
                **config,  # it cannot change what keeps the order
                "bootstrap.servers": bootstrap_servers,
                "logger": LOG,
                "enable.idempotence": True,
                "acks": "all",
                "partitioner": "murmur2_random",  # as in Java: one partition for a key
                "error_cb": trouble.complain,
            }
        )

    def put(self, pending: Pending, topic: str, value: bytes) -> bool:
        """Hand a command to the producer; return False when its queue is full."""
        acknowledged = partial(self._acknowledged, pending)
        self._waiting.add(pending)
        try:
            key = pending.aggregate_id.encode()
            self.producer.produce(
                topic, value, key, on_delivery=acknowledged, headers=self._headers
            )
        except BufferError:
            self._waiting.withdraw(pending)
            return False
        except KafkaException as error:
            refused = NotDeliveredError(f"{pending} was not sent: {error.args[0].str()}")
            self._waiting.lose(pending, refused)
            raise refused from error
        return True

    def flush(self, timeout_s: float | None) -> None:
        """Return when everything is acknowledged; see `Client.flush`."""
        left = self.producer.flush() if timeout_s is None else self.producer.flush(timeout_s)
        unseen = []
        while self._losses:  # the client's thread may append meanwhile
            if not (loss := self._losses.popleft()).seen:
                unseen.append(loss)
        if left:
            raise NotDeliveredError(f"{left} commands are not acknowledged after {timeout_s:g} s")
        if len(unseen) == 1:
            raise unseen[0]
        if unseen:
            raise NotDeliveredError(
                f"{len(unseen)} commands or more were lost, the first: {unseen[0]}"
            )

    def _acknowledged(self, pending: Pending, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._trouble.text = ""
            self._waiting.place(pending, source_of(message))
            return
        trouble = f", {self._trouble.text}" if self._trouble.text else ""
        loss = NotDeliveredError(
            f"{pending} was not acknowledged by Kafka ({error.str()}{trouble}): "
            "whether it arrived is unknown, send it again with the same command id"
        )
        self._losses.append(loss)
        self._waiting.lose(pending, loss)


def source_of(message: Message) -> Source:
    """Return the position of a record that Kafka has taken or given."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return Source(topic, partition, offset)
