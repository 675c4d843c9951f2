from pathlib import Path

import pytest

from verdict.adapters.spark.errors import NOTHING_LOST, DamagedCheckpointError, query_failed
from verdict.errors import UnreachableError, VerdictError, WorkerTimeoutError
from verdict.settings.application_loader import ApplicationNotFoundError
from verdict.streaming.exactly_once.errors import CheckpointMismatchError

DATA = Path("/data")
LOG = Path("/data/run/decider/spark/spark.log")
TRACE = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times
Caused by: java.io.IOException: {}
\tat org.apache.spark.Whatever.scala(Whatever.scala:1)"""


# kind and advice, and what Spark says then
KNOWN: dict[tuple[type[VerdictError], str], tuple[str, ...]] = {
    (VerdictError, "make room there"): (
        "No space left on device",
        "File too large",
        "/data/x: Disk quota exceeded",
        "/data/x: Read-only file system",
    ),
    (VerdictError, "`ulimit -n`"): ("[Errno 24] Too many open files: '/data/x'",),
    (VerdictError, "read and write all in"): (
        "/data/checkpoint/offsets/7 (Permission denied)",
        "RocksDBException: While open a file: 9.sst: Permission denied",
        "RocksDBException: While pread: 9.sst: Input/output error",
    ),
    (UnreachableError, "see that it runs; nothing is lost"): (
        "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. "
        "Call: describeTopics",
        "java.util.concurrent.TimeoutException: Cannot fetch record for offset 7 in 120000 "
        "milliseconds",
    ),
    (DamagedCheckpointError, "`verdict recover`"): (
        "Checksum error: file:/data/checkpoint/state/0/1/3.changelog at 0 exp: 1 got: 2",
        "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] An error occurred",
        "state of shard 1 is damaged: log entry 3 of 3 is missing",
    ),
    (DamagedCheckpointError, "was made in another folder"): (
        "File `/was/decider/generation-1/checkpoint/state/0/_stateSchema/default/0_d5` does not "
        "exist. SQLSTATE: 42K03",
    ),
    (WorkerTimeoutError, f"give its machine less to do or more memory; {NOTHING_LOST}; {LOG}"): (
        "Python worker failed to connect back.",
        "[STREAMING_PYTHON_RUNNER_INITIALIZATION_COMMUNICATION_FAILURE] Streaming Runner "
        "initialization failed during initial config communication. Cause: null SQLSTATE: XXKST",
        "org.apache.spark.SparkException: EOFException occurred while reading the port number from "
        "pyspark.daemon's stdout.",
        "Lost task 0.3 in stage 3.0 (TID 7) (10.0.0.5 executor 3): ExecutorLostFailure (executor 3 "
        "exited unrelated to the running tasks) Reason: worker lost",
        "[CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR] held by x",
    ),
    (ApplicationNotFoundError, "line 64): its files have changed since this process began"): (
        "verdict.settings.application_loader.ApplicationNotFoundError: the application shop:app "
        "cannot be loaded: SyntaxError: invalid syntax (parcel.py, line 64)",
    ),
}


@pytest.mark.proves("F-12", "F-13")
@pytest.mark.parametrize(
    ("line", "kind", "advice"), [(line, *told) for told, lines in KNOWN.items() for line in lines]
)
def test_what_a_person_can_mend_is_said_with_its_line_and_what_to_do(
    line: str, kind: type[VerdictError], advice: str
) -> None:
    failure = RuntimeError(TRACE.format(line))

    told = query_failed(failure, DATA, LOG)

    assert type(told) is kind
    assert told.__cause__ is failure
    assert "\n" not in str(told)
    assert line.rpartition("Exception: ")[2] in str(told)
    assert advice in str(told)


def test_a_full_disk_is_not_taken_for_damage() -> None:
    both = TRACE.format("[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] x\nNo space left on device")

    assert "make room" in str(query_failed(RuntimeError(both), DATA, LOG))


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        (
            "Stream closed\n\tat java.base/java.lang.ProcessBuilder$NullOutputStream.write"
            "(ProcessBuilder.java:445)\n\tat org.apache.spark.api.python.PythonWorkerFactory."
            "create",
            WorkerTimeoutError,
        ),
        (
            "java.io.EOFException\n\tat java.base/java.io.DataInputStream.readFully"
            "(DataInputStream.java:210)\n\tat org.apache.spark.api.python.PythonWorkerFactory."
            "createWorker$1(PythonWorkerFactory.scala:181)",
            WorkerTimeoutError,
        ),
        ("Stream closed\n\tat java.base/java.io.X.read(X.java:1)", RuntimeError),
        ("java.io.EOFException\n\tat org.apache.hadoop.fs.X.read", RuntimeError),
    ],
)
def test_only_the_end_of_what_forks_the_workers_is_no_bug(
    stack: str, kind: type[Exception]
) -> None:
    """It was to stop a worker, and had been killed."""
    assert type(query_failed(RuntimeError(TRACE.format(stack)), DATA, LOG)) is kind


# as Spark says it, with its plan
DATA_LOSS = """Some data may have been lost because they are not available in Kafka any more;
either the data was aged out by Kafka or the topic may have been deleted before all the data in the
topic was processed.
If you don't want your streaming query to fail on such cases, set the source option failOnDataLoss \
to false.
Reason: {}
=== Streaming Query ===
Identifier: projections [id = bb48c04f-1eb5-4d1f-bd51-cfa44309acb5]
Logical Plan:
~WriteToMicroBatchDataSourceV1 ForeachBatchSink, [queryName=projections], Append
+- ~MapInArrow Decoder(topic#265, partition#266, offset#267L, key#263, value#264)#270, false"""
SHORTER = """Partition shop-1.order.events-12 offset was changed from 80 to 7.
This could be either 1) a user error that the start offset is set beyond available offset when \
starting query, or 2) the kafka topic-partition is deleted and re-created."""


HERE = "Kafka has dropped records before they were read here (Reason: {}): "
COMMANDS = "Kafka has dropped commands before they were decided (Reason: {}): "
LESS = (
    "Kafka has lost records: shop-1.order.events:12 was read up to offset 80, and Kafka has it up "
    "to 7 only"
)


@pytest.mark.parametrize(
    ("reason", "for_others", "for_the_decider"),
    [
        (SHORTER, LESS, LESS),
        ("Starting offset for order.events-1 was 3 but consumer reset to 9.", HERE, COMMANDS),
        ("Partitions order.events-1 have been deleted.", HERE, COMMANDS),
    ],
    ids=["shorter", "dropped", "deleted"],
)
def test_what_kafka_has_lost_or_dropped_is_one_line_with_the_reason(
    reason: str, for_others: str, for_the_decider: str
) -> None:
    failure = RuntimeError(DATA_LOSS.format(reason))

    others = str(query_failed(failure, DATA, LOG, recoverable=False))
    decider = str(query_failed(failure, DATA, LOG))

    assert others.startswith(for_others.format(reason))
    assert decider.startswith(for_the_decider.format(reason))
    assert "\n" not in others + decider


class CapturedError(Exception):
    """As PySpark wraps an exception of Java's; its own class needs a JVM."""

    def __init__(self, text: str, trace: str) -> None:
        super().__init__(text)
        self._stackTrace = trace
        self._cause: Exception | None = None


def test_a_cause_is_found_behind_an_error_that_does_not_tell_it() -> None:
    trace = "KafkaException: x\nCaused by: java.io.IOException: Too many open files\n\tat java.X"
    failure = RuntimeError("Failed to create new KafkaAdminClient")
    failure.__cause__ = CapturedError("no client", trace)

    assert "(Too many open files)" in str(query_failed(failure, DATA, LOG))


@pytest.mark.parametrize(
    "error",
    [
        CheckpointMismatchError("said already"),
        ValueError("a bug of ours"),
        RuntimeError("a bug of Spark's"),
    ],
)
def test_what_was_said_already_and_what_is_a_bug_stays_what_it_is(error: Exception) -> None:
    assert query_failed(error, DATA, LOG) is error


def test_an_error_that_is_its_own_cause_has_an_end() -> None:
    failure = RuntimeError("a bug")
    failure.__cause__ = failure

    assert query_failed(failure, DATA, LOG) is failure
