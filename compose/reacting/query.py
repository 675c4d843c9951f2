"""The running reactions: from `start` to `stop`, one Kafka transaction per batch."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from aggregates.operator.chunk import unpacked
from aggregates.operator.handover import chunks_of
from compose.exactly_once.batch import OutputRecord
from compose.exactly_once.checkpoint import batch_of, starting_offsets
from compose.exactly_once.kafka import Kafka
from compose.exactly_once.publisher import Publisher
from compose.exactly_once.stateless import begin_anew
from compose.exactly_once.steps import OnStep, unobserved
from compose.local.spark import jvm_exit_code
from compose.reacting.stream import followed
from compose.reactions_query import NAME, reactions_of, reactions_query
from compose.settings import Settings
from compose.spark_errors import query_failed

ROWS = 2_000  # at a time: each may become several records, of which a transaction must hold all


class Reacting:
    """The one query for everything that follows.

    Args:
        spark: Where it runs.
        kafka: Where everything is published.
        source: Options of Spark's Kafka source, `kafka.bootstrap.servers` and security among them.
        settings: Names, limits and sizes.
        on_step: Called at each step of publishing.
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
        self._reactions = reactions_of(settings)
        self._outputs = settings.data_dir.absolute() / "reactions"
        self._checkpoint: tempfile.TemporaryDirectory[str] | None = None
        self._publisher: Publisher | None = None
        self._running: StreamingQuery | None = None
        self._failure: BaseException | None = None

    def start(self, scratch: Path) -> None:
        """Become the owner and go on where the marker ends.

        Args:
            scratch: A directory for what no restart needs.

        Raises:
            Misfit, NotPublished, Unreachable, VerdictError: As `begin_anew` does.
        """
        query = reactions_query(self._reactions)
        self._publisher = begin_anew(query, self._kafka, self._on_step)
        rmtree(self._outputs, ignore_errors=True)  # of a batch that was killed
        self._checkpoint = tempfile.TemporaryDirectory(prefix=f"{NAME}-", dir=scratch)
        limit = self._settings.command_limit_bytes
        self._running = (
            followed(self._records(), self._reactions, limit, self._outputs)
            .writeStream.queryName(NAME)
            .option("checkpointLocation", self._checkpoint.name)
            .trigger(processingTime=f"{self._settings.reaction_trigger_ms} milliseconds")
            .foreachBatch(self._publish)
            .start()
        )

    def check(self) -> None:
        """Return while it runs.

        Raises:
            VerdictError: It stopped because of something that a person can act on.
            Exception: It stopped because of a bug.
        """
        if self._running is not None and not self._running.isActive:
            failure = self._failure or self._running.exception()
            stopped = failure or RuntimeError(f"the query {NAME} stopped")
            raise query_failed(stopped, self._settings.data_dir, recoverable=False)

    def stop(self) -> None:
        """End after the batch that is under way; the rest comes after the next start."""
        if self._running is not None and jvm_exit_code(self._spark) is None:
            self._running.stop()
        if self._publisher is not None:
            self._publisher.close()
        if self._checkpoint is not None:
            self._checkpoint.cleanup()

    def _records(self) -> DataFrame:
        assert self._publisher is not None
        partitions = dict.fromkeys(self._reactions.inputs, self._settings.topics.partitions)
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

    def _publish(self, frame: DataFrame, batch_id: int) -> None:
        assert self._publisher is not None
        assert self._checkpoint is not None
        try:
            table = frame.toArrow()  # once: every evaluation reads Kafka again
            batch = batch_of(Path(self._checkpoint.name), batch_id)
            outputs = [OutputRecord._make(one) for c in chunks_of(table) for one in unpacked(c)]
            self._publisher.publish(batch, outputs)
            rmtree(self._outputs, ignore_errors=True)
        except BaseException as error:
            self._failure = error  # Spark would keep its text only
            raise
