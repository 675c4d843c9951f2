"""The client for threads: send a command, continue, and ask for its outcome when you need it."""

from typing import Unpack

from verdict.client.connection import Connection, Outgoing
from verdict.client.errors import NotDeliveredError
from verdict.client.pending import Pending
from verdict.model.command import Command
from verdict.model.command_envelope import CommandInfo, Expected

FULL_S = 0.1


class Client(Connection):
    """Sends commands in order and collects their outcomes; threads may share it.

    A forked process needs a client of its own. Commands of one aggregate are decided in the order
    in which one client sent them. `send` does not wait for Kafka: `wait` on its result, `flush`
    and the end of the `with` block tell whether the command arrived.

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
        """Send a command to an aggregate of the type that declares it.

        Args:
            aggregate_id: 1 to 256 characters.
            command: The command.
            expected_version: The version that the sender knows (0: the aggregate must be new), or
                an assumption instead: "ANY", "NO_STREAM" or "EXISTS".
            about: See `CommandInfo`: `command_id`, `deadline`, `correlation_id`, `causation_id`,
                `actor`, `traceparent`.

        Raises:
            ValidationError: A field does not fit the envelope.
            CommandTooLargeError: The command is over the limit; it was not sent.
            KafkaUnavailableError: Kafka does not answer to the first command of an aggregate type.
            ForkedClientError: The parent of this process made the client, before the fork.
        """
        return self._send(self._outgoing(aggregate_id, command, expected_version, **about))

    def send_encoded(
        self, aggregate_type: str, aggregate_id: str, command_id: str, value: bytes
    ) -> Pending:
        """Send bytes that are already a command, JSON or Avro; the bytes are not checked.

        Raises:
            ValidationError: An id does not fit the envelope.
            CommandTooLargeError: The value is over the limit; it was not sent.
            KafkaUnavailableError: Kafka does not answer to the first command of an aggregate type.
            NotDeliveredError: The producer has failed for good.
            ForkedClientError: The parent of this process made the client, before the fork.
        """
        return self._send(self._encoded(aggregate_type, aggregate_id, command_id, value))

    def _send(self, outgoing: Outgoing) -> Pending:
        if not self._follows(outgoing):
            self._follow(outgoing)
        while not self._put(outgoing):
            self._producer.producer.poll(FULL_S)
        return outgoing.pending

    def flush(self, timeout_s: float | None = None) -> None:
        """Return when Kafka has acknowledged everything that was sent.

        Args:
            timeout_s: The longest wait in seconds; default: until each is acknowledged or lost.

        Raises:
            NotDeliveredError: Commands since the last flush were lost, and no `wait` has said so;
                or some are not acknowledged yet.
            ForkedClientError: The parent of this process made the client, before the fork.
        """
        self._flush(timeout_s)

    def close(self) -> None:
        """Flush, and stop reading: commands without an outcome get none here any more.

        Raises:
            NotDeliveredError: As for `flush`; the client is closed nevertheless.
        """
        if self._begin_closing():
            self._close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.close()
        except NotDeliveredError:
            if error is None:  # else the error of the block matters more
                raise
