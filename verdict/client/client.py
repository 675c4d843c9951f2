"""The sender's side: send a command, go on, and ask for its outcome when it matters."""

from typing import Unpack

from verdict.client.connection import CommandInfo, ConnectionState, Outgoing
from verdict.client.errors import NotDeliveredError
from verdict.client.pending import Pending
from verdict.model.command import Command
from verdict.model.command_envelope import Expected

FULL_S = 0.1


class Client(ConnectionState):
    """Sends commands in order and collects their outcomes; safe to share between threads.

    It belongs to the process that made it: one that is forked from that makes its own.

    Commands of one aggregate are decided in the order in which one client sent them. Sending does
    not wait for Kafka: `wait` on what `send` returns, or `flush`, or the end of the `with` block
    tell whether it arrived.

        with Client(app, "localhost:9092") as client:
            order = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=5, ...)
            outcome = client.send("order-1", order, expected_version=0).wait(timeout_s=5)
    """

    def send(
        self,
        aggregate_id: str,
        command: Command,
        expected_version: Expected,
        **about: Unpack[CommandInfo],
    ) -> Pending:
        """Send a command to the aggregate that its type belongs to.

        Args:
            aggregate_id: Of the aggregate, 1 to 256 characters.
            command: What is asked.
            expected_version: How many events the sender has seen of this aggregate (0: it must be
                new), or what may be assumed instead: "ANY", "NO_STREAM" or "EXISTS".
            about: See `CommandInfo`: `command_id`, `deadline`, `correlation_id`, `causation_id`,
                `actor`, `traceparent`.

        Raises:
            ValidationError: A field does not fit the envelope.
            CommandTooLargeError: The command is over the limit; it was not sent.
            KafkaUnavailableError: Kafka does not answer to the first command of an aggregate type.
            ForkedClientError: The client was made by the process that this one was forked from.
        """
        return self._send(
            self._connection.outgoing(aggregate_id, command, expected_version, **about)
        )

    def send_encoded(
        self, aggregate_type: str, aggregate_id: str, command_id: str, value: bytes
    ) -> Pending:
        """Send bytes that are already a command, JSON or Avro; the bytes are not checked.

        Raises:
            ValidationError: An id does not fit the envelope.
            CommandTooLargeError: The value is over the limit; it was not sent.
            KafkaUnavailableError: Kafka does not answer to the first command of an aggregate type.
            NotDeliveredError: The producer has failed for good and does not take it.
            ForkedClientError: The client was made by the process that this one was forked from.
        """
        return self._send(self._connection.encoded(aggregate_type, aggregate_id, command_id, value))

    def _send(self, outgoing: Outgoing) -> Pending:
        if not self._connection.follows(outgoing):
            self._connection.follow(outgoing)
        while not self._connection.put(outgoing):
            self._connection.outbox.producer.poll(FULL_S)
        return outgoing.pending

    def flush(self, timeout_s: float | None = None) -> None:
        """Return when Kafka has acknowledged everything that was sent.

        Args:
            timeout_s: How long to wait, in seconds; default: until each is acknowledged or lost.

        Raises:
            NotDeliveredError: Kafka did not take some commands since the last flush, and no `wait`
                has said so; or some are not acknowledged yet.
            ForkedClientError: The client was made by the process that this one was forked from.
        """
        self._connection.flush(timeout_s)

    def close(self) -> None:
        """Flush, and stop listening: what has no outcome by now gets none here.

        Raises:
            NotDeliveredError: As for `flush`; the client is closed all the same.
        """
        if self._connection.begin_closing():
            self._connection.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.close()
        except NotDeliveredError:
            if error is None:  # else what ended the block is the news
                raise
