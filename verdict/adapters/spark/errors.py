"""Says what ended a query of Spark, and what to do.

Spark gives causes as text only: Java's messages, with those of Python workers. A text that is not
recognised here counts as a bug and keeps its traceback.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from verdict.errors import FULL_DISK, UnreachableError, VerdictError, WorkerTimeoutError
from verdict.settings.application_loader import ApplicationNotFoundError

NOTHING_LOST = "nothing is lost, what is not decided yet is decided then"


class DamagedCheckpointError(VerdictError):
    """A file of Spark's checkpoint is missing, truncated or of an unknown kind."""


def query_failed(
    error: BaseException, data_dir: Path, log: Path, *, recoverable: bool = True
) -> BaseException:
    """Return what to raise for `error`, which ended a query that writes to `data_dir`."""
    if isinstance(error, VerdictError):
        return error
    text = "\n".join(error_texts(error))
    for pattern, kind, message in SURROUNDINGS + (OF_THE_DECIDER if recoverable else OF_OTHERS):
        if found := re.search(pattern, text, re.MULTILINE):
            failed = kind(
                message.format(
                    line=_line(text, found), data_dir=data_dir, log=log, nothing_lost=NOTHING_LOST,
                    **found.groupdict(),
                )
            )  # fmt: skip
            failed.__cause__ = error
            return failed
    return error


def error_texts(error: BaseException) -> Iterator[str]:
    """Yield the texts of an error and its causes, with those of Java."""
    cause: BaseException | None = error
    seen: list[BaseException] = []
    while cause is not None and cause not in seen:  # one may be its own cause
        seen.append(cause)
        yield str(cause)
        # of PySpark's errors only the stack trace has the whole chain
        yield getattr(cause, "_stackTrace", None) or ""
        cause = getattr(cause, "_cause", None) or cause.__cause__


def _line(text: str, found: re.Match[str]) -> str:
    """Return the line of the match, without the names of Java's exceptions before it."""
    begin, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
    line = text[begin : end if end >= 0 else None].strip()
    return re.sub(r"^(Caused by: )?([\w$]+\.)+[\w$]+: ", "", line)[:300]


Causes = tuple[tuple[str, type[VerdictError], str], ...]
"""A pattern of the text, the kind of the error, and its message. The first match counts."""

# a full disk breaks reading too, and must not be taken for damage
SURROUNDINGS: Causes = (
    (
        rf"{FULL_DISK}|Read-only file system",
        VerdictError,
        "{data_dir} could not be written to ({line}): make room there, or lift the limit, then "
        "start again; {nothing_lost}",
    ),
    (
        r"verdict\.[\w.]+\.(ApplicationNotFoundError|InvalidApplicationError): ",
        ApplicationNotFoundError,
        "{line}: its files have changed since this process began, and a new worker reads them as "
        "they are; fix them, or put back what was there, then start again; {nothing_lost}",
    ),
    (
        r"Too many open files",
        VerdictError,
        "the system let this process open no more files ({line}): allow more, 4096 say, with "
        "`ulimit -n` or the LimitNOFILE of its unit, then start again; {nothing_lost}",
    ),
    (
        r"Permission denied|Operation not permitted|Input/output error"
        r"|Invalid directory or I/O error occurred for dir",
        VerdictError,
        "the system refused a file ({line}): see that this process may read and write all in "
        "{data_dir} and open more files (`ulimit -n`), and that its disk works, then start again; "
        "{nothing_lost}",
    ),
    (
        r"on s3a://\S+: \w*(software\.amazon\.awssdk|java\.net|com\.amazonaws)\S*"
        r"|\bAWS\w*(IO|Service|Redirect|NoResponse)\w*Exception\b|SdkClientException"
        r"|AWS Error \w+ during \w+ operation|the object store \(\S+\) does not let us",
        UnreachableError,
        "the object store did not answer for {data_dir} ({line}): see that it runs, and that what "
        "AWS_… in the environment says of it is right; {nothing_lost}",
    ),
    (
        r"common\.errors\.(Timeout|Disconnect|Network)\w*Exception"
        r"|Timed out waiting for a node assignment"
        r"|TimeoutException: Cannot fetch record for offset \d+ in \d+ milliseconds"
        r"|\[KAFKA_\w*TIMEOUT\w*\]|UnknownHostException|Connection to node -?\d+ ",
        UnreachableError,
        "Kafka did not answer Spark ({line}): see that it runs; {nothing_lost}",
    ),
    (
        r"Python worker (failed to connect back|exited unexpectedly|did not|to connect back)"
        r"|Python (daemon )?failed to launch worker"
        # the worker that describes the operator when a query begins
        r"|\[STREAMING_PYTHON_RUNNER_INITIALIZATION_(COMMUNICATION|TIMEOUT)_FAILURE\]"
        # the process that forks the workers: it ended before it began, later, or meanwhile
        r"|EOFException occurred while reading the port number"
        r"|Stream closed(?=\s+at java\.base/java\.lang\.ProcessBuilder\$NullOutputStream)"
        r"|(EOF|ClosedChannel)Exception(?=(\s+at java\S+)*\s+at \S+\.PythonWorkerFactory\.)"
        r"|\[CANNOT_LOAD_STATE_STORE\.UNRELEASED_\w+\]"
        # of a cluster: a machine has gone, or what it had computed
        r"|ExecutorLostFailure \(|FetchFailed\w*Exception",
        WorkerTimeoutError,
        "a part of Spark was late, or has ended ({line}): give its machine less to do or more "
        "memory; {nothing_lost}; {log} has all of it",
    ),
    (
        r"Partition (?P<topic>\S+)-(?P<partition>\d+) offset was changed "
        r"from (?P<had>\d+) to (?P<has>\d+)",
        VerdictError,
        "Kafka has lost records: {topic}:{partition} was read up to offset {had}, and Kafka has it "
        "up to {has} only. Stop the service before new records take these offsets; then bring back "
        "what Kafka had (a replica, or the broker's directory from a backup) and start again",
    ),
)
DATA_LOSS = (
    r"^Reason: (?=Partition|Could not read|Cannot find|Starting offset|Added partition)"
    r"|\[KAFKA_DATA_LOSS\.|OffsetOutOfRangeException"
    r"|Some data may have been lost(?!(?s:.{0,400})^Reason: )"
)
OF_OTHERS: Causes = (
    (
        DATA_LOSS,
        VerdictError,
        "Kafka has dropped records before they were read here ({line}): see that the topics of "
        "events and responses keep all that they have, and start again",
    ),
)
OF_THE_DECIDER: Causes = (
    (
        DATA_LOSS,
        VerdictError,
        "Kafka has dropped commands before they were decided ({line}): `verdict recover` says "
        "which, and how to go on without them; their senders have no answer: tell them",
    ),
    (
        r"File `?(file:)?/\S+/_stateSchema/\S+ does not exist",
        DamagedCheckpointError,
        "the checkpoint in {data_dir} was made in another folder, which Spark's files in it name "
        "({line}): move it back there, or rebuild it from Kafka with `verdict recover`",
    ),
    (
        r"state of shard \d+ is damaged"
        r"|Checksum error: file:\S+"
        r"|RocksDBException: .*"
        r"|(File|Path) `?(file:)?/\S*/(checkpoint|state)/\S* does not exist"
        r"|/checkpoint/\S+ \(No such file or directory\)"
        r"|\[CANNOT_LOAD_STATE_STORE\.(?!UNRELEASED|\w*OUT_OF_MEMORY)\w+\]"
        r"|\[STDS_FAILED_TO_READ_\w+\]"
        r"|\[STREAMING_CHECKPOINT_MISSING_METADATA_FILE\]"
        r"|\[STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY\]"
        r"|\[\w*CHECKSUM_VERIFICATION_FAILED\]",
        DamagedCheckpointError,
        "Spark cannot read what its checkpoint in {data_dir} must hold ({line}): restore the data "
        "directory as it was, or rebuild the checkpoint from Kafka with `verdict recover`; {log} "
        "has all of it",
    ),
)
