"""Brings all projections forward: one Spark query, one SQL transaction per projection and batch.

The position in SQL is the truth. Spark's checkpoint begins anew with every start and only tells
which offsets a batch covers.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from compose.database import one_line
from compose.errors import Unreachable, VerdictError
from compose.exactly_once.checkpoint import batch_of, starting_offsets
from compose.exactly_once.offsets import Offsets
from compose.kafka_batches import KafkaBatches
from compose.local.spark import jvm_exit_code
from compose.spark_errors import query_failed
from projections.engine.applier import Applier
from projections.engine.batch import Partition, Span
from projections.engine.position import AnotherRunner
from projections.engine.projection import Projection
from projections.engine.versions import Superseded
from projections.stream import TASK_BYTES
from schemas.topics import Topics

NAME = "projections"


class Projecting:
    """The running read side, from `start` to `stop`.

    A projection that fails is parked and the others go on. The query ends by itself only when the
    database fails, Kafka lost records, or another runner shows up; `check` says so then.

    Args:
        spark: Reads and decodes.
        kafka: Options of Spark's Kafka source, such as `kafka.bootstrap.servers` and
            `maxOffsetsPerTrigger`.
        database: With the tables of `create_read_side`.
        topics: Of the deployment; they exist, with as many partitions as it says.
        projections: In the order in which a batch updates them.
        task_bytes: What a task may hand over; a batch of more is applied part by part.
    """

    def __init__(
        self,
        spark: SparkSession,
        kafka: Mapping[str, str],
        database: Engine,
        topics: Topics,
        projections: Sequence[Projection],
        task_bytes: int = TASK_BYTES,
    ) -> None:
        self._spark = spark
        self._batches = KafkaBatches(spark, kafka, topics, task_bytes)
        self._database = database
        self._topics = topics
        self._projections = projections
        self._appliers: list[Applier] = []
        self._checkpoint: tempfile.TemporaryDirectory[str] | None = None
        self._running: StreamingQuery | None = None
        self._failure: Exception | None = None
        self._scratch = Path()

    def start(self, scratch: Path, trigger_ms: int = 0) -> None:
        """Begin where the projection that is furthest behind stands; the others skip.

        Args:
            scratch: A directory for what no restart needs.
            trigger_ms: The least time between the beginnings of two batches.

        Raises:
            Unreachable: The database does not answer.
        """
        self._failure, self._scratch = None, scratch
        try:
            self._appliers = [
                Applier(self._database, projection, self._topics)
                for projection in self._projections
            ]
        except DBAPIError as error:
            raise _for_people(error) from error
        self._checkpoint = tempfile.TemporaryDirectory(prefix=f"{NAME}-", dir=scratch)
        self._running = (
            self._batches.stream(self._beginning())
            .writeStream.queryName(NAME)
            .option("checkpointLocation", self._checkpoint.name)
            .trigger(processingTime=f"{trigger_ms} milliseconds")
            .foreachBatch(self._apply)
            .start()
        )

    def check(self) -> None:
        """Return while it runs.

        Raises:
            Superseded: Readers were given another version of a projection to see.
            VerdictError: It stopped because of something that a person can act on.
            Exception: It stopped because of a bug.
        """
        if self._running is not None and not self._running.isActive:
            if isinstance(self._failure, Superseded):
                raise self._failure
            failure = self._failure or self._running.exception()
            stopped = failure or RuntimeError(f"{NAME} stopped")
            raise query_failed(stopped, self._scratch, recoverable=False)

    def stop(self) -> None:
        """End the query; what it has not committed by then is applied after the next start."""
        if self._running is not None and jvm_exit_code(self._spark) is None:
            self._running.stop()
        if self._checkpoint is not None:
            self._checkpoint.cleanup()

    def _beginning(self) -> dict[str, str]:
        followed = {name for applier in self._appliers for name in applier.topics}
        sizes = {t.name: t.partitions for t in self._topics.all() if t.name in followed}
        offsets = {name: self._furthest_behind(name, size) for name, size in sizes.items()}
        return {
            "subscribe": ",".join(sorted(sizes)),
            "startingOffsets": starting_offsets(offsets, sizes),
        }

    def _furthest_behind(self, topic: str, partitions: int) -> list[int]:
        """Return, for each partition, the least position of those who follow the topic."""
        followers = [applier.positions for applier in self._appliers if topic in applier.topics]
        return [
            min(positions.get(Partition(topic, number), 0) for positions in followers)
            for number in range(partitions)
        ]

    def _apply(self, frame: DataFrame, batch_id: int) -> None:
        assert self._checkpoint is not None
        try:
            planned = batch_of(Path(self._checkpoint.name), batch_id)
            for batch in self._batches.batches(frame, _spans(planned.start, planned.end)):
                for applier in self._appliers:
                    applier.apply(batch)
        except Exception as error:
            self._failure = _for_people(error)
            if self._failure is error:
                raise  # "from" itself would make it its own cause, for ever
            raise self._failure from error


def _spans(start: Offsets, end: Offsets) -> dict[Partition, Span]:
    return {
        Partition(topic, number): Span(start[topic][number], offset)
        for topic, offsets in end.items()
        for number, offset in enumerate(offsets)
    }


def _for_people(error: Exception) -> Exception:
    if isinstance(error, AnotherRunner):
        return VerdictError(str(error))
    if isinstance(error, DBAPIError):
        return Unreachable(f"the database of the read side failed: {one_line(error.orig)}")
    return error
