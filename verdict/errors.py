"""What can stop verdict from outside of it; each error knows the exit code of the command line."""

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
    """No failure: people decided what whoever runs heeds by beginning again, at once."""
