"""What can go wrong between a sender and Kafka. A rejection is a result and none of these."""

import os

from verdict.errors import VerdictError


class SendFailedError(VerdictError):
    """A command could not be sent, or its outcome could not be awaited.

    Send the command again with `command_id`, if there is one: it may have been sent.
    """

    exit_code = 5
    command_id: str | None = None


class CommandTooLargeError(SendFailedError, ValueError):
    """A command is larger than the command processor accepts; it was not sent."""

    exit_code = 1

    def __init__(self, about: str, size: int, limit: int) -> None:
        super().__init__(
            f"{about} has {size} bytes, at most {limit} are read: "
            "send less, or keep the bulk elsewhere and send its address"
        )


class NotDeliveredError(SendFailedError):
    """Kafka did not acknowledge a command."""

    seen = False  # whether a `wait` has raised it; otherwise `flush` does


class OutcomeUnknownError(SendFailedError, TimeoutError):
    """The outcome did not come in time; the command may be decided now or later."""

    exit_code = 4


class UnreadableResponseError(OutcomeUnknownError):
    """A response, perhaps to this command, cannot be read; other commands are not affected."""


class ForkedClientError(SendFailedError, RuntimeError):
    """The parent of this process made the client, before the fork."""

    def __init__(self, made_by: int) -> None:
        super().__init__(
            f"this client of Kafka belongs to process {made_by}, and this is a fork of it, "
            f"{os.getpid()}: its connections and threads are not here, and nothing was sent; make "
            "a Client of its own in each process, after the fork"
        )


class KafkaUnavailableError(SendFailedError, ConnectionError):
    """Kafka does not answer, does not let us in, or lacks a topic."""

    reason = ""  # librdkafka's reason


class UnreadableResponsesError(SendFailedError):
    """The responses can no longer be read, so no outcome will be known here."""


def require_same_process(made_by: int) -> None:
    """Raise `ForkedClientError` in another process than the one that made a client."""
    if os.getpid() != made_by:
        raise ForkedClientError(made_by)
