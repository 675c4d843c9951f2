"""The sender's side: send a command, go on, and ask for its outcome when it matters."""

import os
import time
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType

from uuid_utils import uuid7

from verdict.application import current
from verdict.client.errors import NotDelivered, OutcomeUnknown, TooLarge, see_that_not_forked
from verdict.client.outbox import Outbox
from verdict.client.pending import Pending, Trouble
from verdict.client.responses import Responses
from verdict.client.waiting import Waiting
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, Expectation
from verdict.wire.commands import encode_command
from verdict.wire.topics import Topics

COMMAND_BYTES = 64 * 1024

Instant = datetime | int  # with a time zone, or epoch milliseconds


class Client:
    """Sends commands in order and collects their outcomes; safe to share between threads.

    It belongs to the process that made it: one that is forked from that makes its own.

    Commands of one aggregate are decided in the order in which one client sent them. Sending does
    not wait for Kafka: `wait` on what `send` returns, or `flush`, or the end of the `with` block
    tell whether it arrived.

        with Client("localhost:9092") as client:
            order = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=5, ...)
            outcome = client.send("order-1", order, expected_version=0).wait(timeout_s=5)
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topics: Topics | None = None,
        config: Mapping[str, str] | None = None,
        command_limit_bytes: int = COMMAND_BYTES,
    ) -> None:
        """Prepare to send; nothing is connected before the first command.

        Args:
            bootstrap_servers: Where Kafka is found, `host:port` with commas between.
            topics: Of the deployment to talk to; default: no prefix.
            config: Further settings of librdkafka, such as `security.protocol`.
            command_limit_bytes: What the deciding side reads at most of one command.
        """
        self._topics = topics or Topics()
        self._limit = command_limit_bytes
        self._made_by = os.getpid()
        self._trouble = Trouble()
        self._waiting = Waiting()
        extra = config or {}
        self._outbox = Outbox(bootstrap_servers, extra, self._waiting, self._trouble)
        self._responses = Responses(
            bootstrap_servers, self._topics, extra, self._waiting, self._trouble
        )
        self._followed: frozenset[str] = frozenset()
        self._closed = False

    def send(  # noqa: PLR0913  (the envelope's fields, each optional)
        self,
        aggregate_id: str,
        command: Command,
        expected_version: int | Expectation,
        *,
        command_id: str | None = None,
        deadline: Instant | None = None,
        correlation_id: str | None = None,
        causation_id: str | None = None,
        actor: str | None = None,
        traceparent: str | None = None,
    ) -> Pending:
        """Send a command to the aggregate that its type belongs to.

        Args:
            aggregate_id: Of the aggregate, 1 to 256 characters.
            command: What is asked.
            expected_version: How many events the sender has seen of this aggregate (0: it must be
                new), or what may be assumed instead.
            command_id: Names the wish, 1 to 128 characters; the same id is decided once. Default:
                a new UUIDv7.
            deadline: When the command must have reached Kafka, else it is rejected.
            correlation_id: Of the flow that this belongs to, 1 to 256 characters; default: the
                command's id.
            causation_id: Of what caused the command.
            actor: On whose behalf.
            traceparent: W3C trace context, copied to the events.

        Raises:
            ValidationError: A field does not fit the envelope.
            TooLarge: The command is over the limit; it was not sent.
            KafkaUnavailable: Kafka does not answer to the first command of an aggregate type.
            Forked: The client was made by the process that this one was forked from.
        """
        envelope = CommandEnvelope(
            command_id=command_id or str(uuid7()),
            aggregate_id=aggregate_id,
            expected_version=expected_version,
            deadline=_millis(deadline),
            correlation_id=correlation_id,
            causation_id=causation_id,
            actor=actor,
            traceparent=traceparent,
            issued_at=time.time_ns() // 1_000_000,
            payload={},
        )
        aggregate_type = current().aggregate_of(type(command))
        value = encode_command(aggregate_type, envelope, command)
        return self.send_encoded(aggregate_type, aggregate_id, envelope.command_id, value)

    def send_encoded(
        self, aggregate_type: str, aggregate_id: str, command_id: str, value: bytes
    ) -> Pending:
        """Send bytes that are already a command, JSON or Avro; they are not looked into.

        Raises:
            TooLarge: The value is over the limit; it was not sent.
            KafkaUnavailable: Kafka does not answer to the first command of an aggregate type.
            NotDelivered: The producer has failed for good and does not take it.
            Forked: The client was made by the process that this one was forked from.
        """
        see_that_not_forked(self._made_by)
        pending = Pending(aggregate_type, aggregate_id, command_id, self._trouble)
        if self._closed:
            raise ValueError(f"{pending} was sent through a client that is closed")
        if len(value) > self._limit:
            raise TooLarge(str(pending), len(value), self._limit)
        if aggregate_type not in self._followed:
            self._responses.follow(aggregate_type, self._outbox.producer)
            self._followed |= {aggregate_type}
        self._outbox.put(pending, self._topics.commands(aggregate_type), value)
        return pending

    @property
    def unreadable(self) -> int:
        """How many responses could not be read so far; each cost one waiting at most."""
        return self._responses.unreadable

    def flush(self, timeout_s: float | None = None) -> None:
        """Return when Kafka has acknowledged everything that was sent.

        Args:
            timeout_s: How long to wait, in seconds; default: until each is acknowledged or lost.

        Raises:
            NotDelivered: Kafka did not take some commands since the last flush, and no `wait`
                has said so; or some are not acknowledged yet.
            Forked: The client was made by the process that this one was forked from.
        """
        see_that_not_forked(self._made_by)
        self._outbox.flush(timeout_s)

    def close(self) -> None:
        """Flush, and stop listening: what has no outcome by now gets none here.

        Raises:
            NotDelivered: As for `flush`; the client is closed all the same.
        """
        if self._closed or os.getpid() != self._made_by:  # to a fork nothing of it belongs
            return
        self._closed = True
        try:
            self.flush()
        finally:
            self._responses.stop()
            self._waiting.fail(
                OutcomeUnknown(
                    "the client was closed before the outcome came: "
                    "it is unknown, ask again with the same command id"
                )
            )

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except NotDelivered:
            if error is None:  # else what ended the block is the news
                raise


def _millis(moment: Instant | None) -> int | None:
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        raise ValueError(f"deadline {moment} needs a time zone")
    return round(moment.timestamp() * 1000)
