"""The life of a query without state: a batch, then its marker, then the next batch.

Each start begins a new generation in the marker, with a fresh checkpoint where the marker ends.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from verdict.exactly_once.batch import Batch
from verdict.exactly_once.checkpoint import batch_of, starting_offsets
from verdict.exactly_once.publisher import Publisher
from verdict.exactly_once.query import Query
from verdict.exactly_once.stateless import begin_anew
from verdict.exactly_once.steps import OnStep, unobserved
from verdict.kafka.access import Kafka
from verdict.spark.errors import query_failed
from verdict.spark.session import jvm_exit_code
from verdict.spark.under_way import under_way

POOL = "spark.scheduler.pool"

Take = Callable[[DataFrame, Batch, Publisher], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a processor stands on.

    Args:
        spark: Where it runs.
        kafka: Where everything is published, the marker too.
        source: Options of Spark's Kafka source, `kafka.bootstrap.servers` and security among them.
        partitions: Of each topic.
        scratch: A directory for what no restart needs.
    """

    spark: SparkSession
    kafka: Kafka
    source: Mapping[str, str] = field(repr=False)  # passwords are in it
    partitions: int
    scratch: Path


class Processor:
    """One processor.

    Args:
        ground: What it stands on.
        query: Its names and inputs.
        follow: Kafka's records → what `take` is given; on the executors.
        take: Does what a batch is for, and publishes it; in the driver, a batch at a time.
        rows: That a batch reads at most.
        trigger_ms: The least time between the beginnings of two batches.
        data: Where its data lies, for messages.
        headers: Whether it looks at those of records, too.
        begun: Called at each start by who has become the owner, before anything is read; tells
            whether it has published something itself, so that the marker is to be begun anew.
        on_step: Called at each step of publishing.
    """

    def __init__(  # noqa: PLR0913  (facts that have nothing to do with each other)
        self,
        ground: Ground,
        query: Query,
        follow: Callable[[DataFrame], DataFrame],
        take: Take,
        *,
        rows: int,
        trigger_ms: int,
        data: Path,
        headers: bool = False,
        begun: Callable[[Publisher], bool] = lambda _: False,
        on_step: OnStep = unobserved,
    ) -> None:
        self._ground = ground
        self._query = query
        self._follow = follow
        self._take = take
        self._rows = rows
        self._trigger_ms = trigger_ms
        self._data = data
        self._headers = headers
        self._begun = begun
        self._on_step = on_step
        self._held = ExitStack()
        self._running: StreamingQuery | None = None
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Become the owner and go on where the marker ends.

        Raises:
            Misfit, NotPublished, Unreachable, VerdictError: As `begin_anew` does.
        """
        publisher = self._owner()
        if self._begun(publisher):
            publisher.close()
            publisher = self._owner()  # batches of Spark follow on no others
        made = tempfile.TemporaryDirectory(prefix=f"{self._query.name}-", dir=self._ground.scratch)
        checkpoint = Path(self._held.enter_context(made))

        def take_one(frame: DataFrame, batch_id: int) -> None:
            try:
                with under_way(self._query.name, batch_id):
                    self._take(frame, batch_of(checkpoint, batch_id), publisher)
            except BaseException as error:
                self._failure = error  # Spark would keep its text only
                raise

        writer = (
            self._follow(self._records(publisher))
            .writeStream.queryName(self._query.name)
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=f"{self._trigger_ms} milliseconds")
            .foreachBatch(take_one)
        )
        with self._own_pool():
            self._failure, self._running = None, writer.start()

    def check(self) -> None:
        """Return while it runs.

        Raises:
            VerdictError: It stopped because of something that a person can act on.
            Exception: It stopped because of a bug.
        """
        if self._running is not None and not self._running.isActive:
            failure = self._failure or self._running.exception()
            stopped = failure or RuntimeError(f"the query {self._query.name} stopped")
            raise query_failed(stopped, self._data, recoverable=False)

    def stop(self) -> None:
        """End it; what is not published yet comes after the next start."""
        if self._running is not None and jvm_exit_code(self._ground.spark) is None:
            self._running.stop()
        self._running = None
        self._held.close()

    def _owner(self) -> Publisher:
        publisher = begin_anew(self._query, self._ground.kafka, self._on_step)
        self._held.callback(publisher.close)  # it and what follows, until `stop`
        return publisher

    def _records(self, publisher: Publisher) -> DataFrame:
        partitions = dict.fromkeys(self._query.inputs, self._ground.partitions)
        return (
            self._ground.spark.readStream.format("kafka")
            .options(**self._ground.source)
            .option("kafka.isolation.level", "read_committed")
            .option("failOnDataLoss", "true")
            .option("includeHeaders", str(self._headers).lower())
            .option("subscribe", ",".join(partitions))
            .option("startingOffsets", starting_offsets(publisher.marker.offsets, partitions))
            .option("maxOffsetsPerTrigger", self._rows)
            .load()
        )

    @contextmanager
    def _own_pool(self) -> Iterator[None]:
        """Let nobody wait for a long batch of this one: its tasks have a share of their own."""
        context = self._ground.spark.sparkContext
        former = context.getLocalProperty(POOL)
        context.setLocalProperty(POOL, self._query.name)
        try:
            yield
        finally:
            context.setLocalProperty(POOL, former)  # type: ignore[arg-type]
