"""Every error that a caller may catch; those of `VerdictError` know their exit code."""

from typing import TYPE_CHECKING

from verdict.lazy_imports import load_lazily

if TYPE_CHECKING:
    from verdict.adapters.sql.readers.selected import NotAllowedError, RoleMissingError
    from verdict.client.errors import (
        CommandTooLargeError,
        ForkedClientError,
        KafkaUnavailableError,
        NotDeliveredError,
        OutcomeUnknownError,
        SendFailedError,
        UnreadableResponseError,
        UnreadableResponsesError,
    )
    from verdict.model.aggregate import InvalidApplicationError
    from verdict.model.application import UnknownAggregateError
    from verdict.model.integration import NoCommandError
    from verdict.read_side.catalog import UnknownProjectionError
    from verdict.read_side.read_your_writes import ProjectionUnavailableError
    from verdict.settings.application_loader import ApplicationNotFoundError
    from verdict.settings.load import InvalidSettingsError
    from verdict.streaming.event_log.archive import HashMismatchError
    from verdict.streaming.event_log.event_log import EventsMissingError
    from verdict.wire.response import CommandRejectedError

__all__ = [
    "ApplicationNotFoundError", "CommandRejectedError", "CommandTooLargeError",
    "EnvironmentIncompleteError", "EventsMissingError", "ForkedClientError",
    "HashMismatchError", "InvalidApplicationError", "InvalidSettingsError",
    "KafkaUnavailableError", "NoCommandError", "NotAllowedError", "NotDeliveredError",
    "OutcomeUnknownError", "ProjectionUnavailableError", "RoleMissingError", "SendFailedError",
    "TimedOutError", "UnknownAggregateError", "UnknownProjectionError", "UnreachableError",
    "UnreadableResponseError", "UnreadableResponsesError", "VerdictError",
]  # fmt: skip

# how those who write to a disk that is full, or as good as full, say so
FULL_DISK = r"No space left on device|File too large|Disk quota exceeded"

# that a file is missing, or something else in its place; other errors of the system say nothing of
# what is stored: files ran short, the disk failed, this user may not read it
ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class VerdictError(Exception):
    """Something a person can act on: the message says what happened and what to do."""

    exit_code = 1


class TimedOutError(VerdictError):
    """What was awaited may still happen."""

    exit_code = 4


class UnreachableError(VerdictError):
    """Kafka, the database or the mail server does not answer."""

    exit_code = 5


class WorkerTimeoutError(VerdictError):
    """A process of this machine did not answer in time; the same may succeed at the next try."""


class EnvironmentIncompleteError(VerdictError):
    """This machine lacks Java, a jar or a fitting Python."""

    exit_code = 6


class RestartRequestedError(Exception):
    """No failure: an operator decided something that takes effect with a restart, at once."""


if not TYPE_CHECKING:  # it reads the imports above
    __getattr__, __dir__ = load_lazily(__name__)
