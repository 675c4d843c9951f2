"""The running lake: from `start` to `stop`, one folder of files and one marker per batch."""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from compose.exactly_once.batch import Batch, OutputRecord
from compose.exactly_once.checkpoint import batch_of, starting_offsets
from compose.exactly_once.kafka import Kafka
from compose.exactly_once.lock import DataDirectoryLock
from compose.exactly_once.markers import first_offsets, read_marker
from compose.exactly_once.query import Query, query_of
from compose.exactly_once.stateless import begin_anew
from compose.exactly_once.steps import OnStep, Step, unobserved
from compose.lake.stream import AGGREGATE, LETTER, lines
from compose.lake.table import Span, Table, position
from compose.local.spark import jvm_exit_code
from compose.settings import Settings
from compose.spark_errors import query_failed
from projections.outbound.invoice_line import PARTITION
from schemas.dead_letter import DeadLetter
from schemas.topics import Topics
from schemas.wire.cloud_events import dead_letter_headers
from schemas.wire.headers import joined
from schemas.wire.records import decode

NAME = "lake"
TABLE = "invoice_line"
ROWS = 50_000  # events at a time: they are many to a file, and Spark writes them as they come
NO_SUCCESS_FILE = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


def lake_dir(settings: Settings) -> Path:
    """Return where the lake of these settings is."""
    return (settings.lake_dir or settings.data_dir / NAME).absolute()


def lake_query(topics: Topics) -> Query:
    """Return the query as Kafka and its marker know it; its outputs are files."""
    return query_of(
        topics, NAME, inputs=[topics.events(AGGREGATE)], outputs=[], handler_version="1"
    )


class Lake:
    """The one query that writes files.

    Args:
        spark: Where it runs.
        kafka: Where the marker is, and dead letters go.
        source: Options of Spark's Kafka source, `kafka.bootstrap.servers` and security among them.
        settings: Names, places and sizes.
        on_step: Called at each step.
    """

    def __init__(
        self,
        spark: SparkSession,
        kafka: Kafka,
        source: Mapping[str, str],
        settings: Settings,
        on_step: OnStep = unobserved,
    ) -> None:
        self._spark = spark
        self._kafka = kafka
        self._source = source
        self._settings = settings
        self._on_step = on_step
        self._query = lake_query(settings.topics)
        self._held = ExitStack()
        self._running: StreamingQuery | None = None
        self._failure: BaseException | None = None

    def start(self, scratch: Path) -> None:
        """Become the owner and go on where the marker ends.

        Args:
            scratch: A directory for what no restart needs.

        Raises:
            Misfit: The files are not as far as the marker says.
            VerdictError: Another process writes to the lake, or as `begin_anew` says.
        """
        folder = lake_dir(self._settings)
        self._held.enter_context(DataDirectoryLock(folder, "lake", "lake_dir"))
        self._table = Table(folder / TABLE, folder / "staging")
        self._check()
        self._publisher = begin_anew(self._query, self._kafka, self._on_step)
        self._held.callback(self._publisher.close)
        made = tempfile.TemporaryDirectory(prefix=f"{NAME}-", dir=scratch)
        self._checkpoint = Path(self._held.enter_context(made))
        self._running = self._started()

    def check(self) -> None:
        """Return while it runs.

        Raises:
            VerdictError: It stopped because of something that a person can act on.
            Exception: It stopped because of a bug.
        """
        if self._running is not None and not self._running.isActive:
            failure = self._failure or self._running.exception()
            stopped = failure or RuntimeError(f"the query {NAME} stopped")
            raise query_failed(stopped, lake_dir(self._settings), recoverable=False)

    def stop(self) -> None:
        """End it; what is not written yet comes after the next start."""
        if self._running is not None and jvm_exit_code(self._spark) is None:
            self._running.stop()
        self._held.close()

    def _check(self) -> None:
        """See that files and marker belong together, before anybody is disturbed."""
        marker = read_marker(self._kafka, self._query, wait=True).marker
        first = position(first_offsets(self._kafka, self._query.inputs))
        remedy = (
            "bring back the folder as it was; or have all of it written again: remove the folder "
            f"and the marker (write a record without a value, key {NAME}, to "
            f"{self._query.markers}), and start again"
        )
        self._table.check(None if marker is None else position(marker.offsets), first, remedy)

    def _started(self) -> StreamingQuery:
        query = (
            lines(self._records())
            .writeStream.queryName(NAME)
            .option("checkpointLocation", str(self._checkpoint))
            .trigger(processingTime=f"{self._settings.lake_trigger_ms} milliseconds")
            .foreachBatch(self._write)
        )
        context = self._spark.sparkContext
        former = context.getLocalProperty("spark.scheduler.pool")
        # a pool of its own: the decider does not wait until a long batch of files is written
        context.setLocalProperty("spark.scheduler.pool", NAME)
        try:
            return query.start()
        finally:
            context.setLocalProperty("spark.scheduler.pool", former)  # type: ignore[arg-type]

    def _records(self) -> DataFrame:
        partitions = dict.fromkeys(self._query.inputs, self._settings.topics.partitions)
        start = starting_offsets(self._publisher.marker.offsets, partitions)
        return (
            self._spark.readStream.format("kafka")
            .options(**self._source)
            .option("kafka.isolation.level", "read_committed")
            .option("failOnDataLoss", "true")
            .option("subscribe", ",".join(partitions))
            .option("startingOffsets", start)
            .option("maxOffsetsPerTrigger", ROWS)
            .load()
        )

    def _write(self, frame: DataFrame, batch_id: int) -> None:
        try:
            self._put(frame, batch_of(self._checkpoint, batch_id))
        except BaseException as error:
            self._failure = error  # Spark would keep its text only
            raise

    def _put(self, frame: DataFrame, batch: Batch) -> None:
        staged, seen = self._table.staged(), Observation()
        (
            frame.observe(seen, F.count(LETTER).alias("letters"))
            .where(F.col(LETTER).isNull())
            .drop(LETTER)
            .write.options(**NO_SUCCESS_FILE)
            .partitionBy(PARTITION.name)
            .parquet(str(staged))
        )
        letters = self._letters(frame) if seen.get["letters"] else []
        self._on_step(Step.FILES_WRITTEN)
        span = Span(position(batch.start), position(batch.end))
        self._table.put(staged, span, partial(self._on_step, Step.FORMER_AWAY))
        self._publisher.publish(batch, letters)

    def _letters(self, frame: DataFrame) -> list[OutputRecord]:
        """Read the batch once more: there is hardly ever a letter."""
        found = frame.where(F.col(LETTER).isNotNull()).select(LETTER).toArrow()
        values = [value.as_py() for value in found[LETTER]]
        return [_letter(value, self._settings.topics.dead_letters) for value in values]


def _letter(value: bytes, topic: str) -> OutputRecord:
    letter = decode(DeadLetter, value)
    return OutputRecord(topic, letter.key, value, joined(dead_letter_headers(letter)), False)
