"""What can go wrong between a sender and Kafka; a rejection is an answer and none of these."""

import os


class SendFailedError(Exception):
    """A command could not be sent, or its outcome could not be awaited.

    `command_id` is that of the command it is about, if it was on its way: ask again with it.
    """

    command_id: str | None = None


class CommandTooLargeError(SendFailedError, ValueError):
    """A command is larger than the deciding side reads; it was not sent."""

    def __init__(self, about: str, size: int, limit: int) -> None:
        super().__init__(
            f"{about} has {size} bytes, at most {limit} are read: "
            "send less, or keep the bulk elsewhere and send its address"
        )


class NotDeliveredError(SendFailedError):
    """Kafka did not acknowledge a command."""

    seen = False  # by a `wait`; what nobody saw is raised by `flush`


class OutcomeUnknownError(SendFailedError, TimeoutError):
    """The outcome did not come in time; the command may have been decided, or may still be."""


class UnreadableResponseError(OutcomeUnknownError):
    """A response that may be the one to this command cannot be read; others are not touched."""


class ForkedClientError(SendFailedError, RuntimeError):
    """The client was made by the process that this one was forked from, and is of no use here."""

    def __init__(self, made_by: int) -> None:
        super().__init__(
            f"this client of Kafka belongs to process {made_by}, and this is a fork of it, "
            f"{os.getpid()}: its connections and threads are not here, and nothing was sent; make "
            "a Client of its own in each process, after the fork"
        )


class KafkaUnavailableError(SendFailedError, ConnectionError):
    """Kafka does not answer, does not let us in, or lacks a topic."""

    said = ""  # why there is no connection, in librdkafka's words


class UnreadableResponsesError(SendFailedError):
    """The responses can no longer be read, so no outcome will be known here."""


def require_same_process(made_by: int) -> None:
    """Return in the process that made a client.

    Raises:
        ForkedClientError: This is another one.
    """
    if os.getpid() != made_by:
        raise ForkedClientError(made_by)
