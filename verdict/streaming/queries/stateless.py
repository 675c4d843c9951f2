"""A query without state: each start begins with a fresh checkpoint where its progress record ends.

It is never rebuilt, as what it sent was sent. Policies, notifications and the lake are such
queries.
"""

from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame

from verdict.adapters.spark.errors import query_failed
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.restart import restart_from_progress
from verdict.streaming.queries.kafka_source import StreamContext, arriving
from verdict.streaming.queries.spark_query import SparkQuery

Take = Callable[[DataFrame, SourceBatch, Publisher], None]


@dataclass(kw_only=True)
class StatelessProcessor:
    """One query without state; a component of a service.

    `opened` is called first at each start; `stop` leaves last what it enters. `begun` is called by
    the new owner before anything is read; if it has published something itself and returns True,
    the owner begins again.
    """

    ground: StreamContext
    query: Query
    follow: Callable[[DataFrame], DataFrame]  # from Kafka's records to what `take` gets
    take: Take  # handles a batch and publishes it, in the driver
    rows: int  # of a batch at most
    trigger_ms: int
    data: Path  # the data directory, for messages
    headers: bool = False
    opened: Callable[[ExitStack], None] = lambda _: None
    with_history: Collection[str] = ()  # inputs that begin at their end when they are added
    begun: Callable[[Publisher], bool] = lambda _: False
    on_step: OnStep = ignore_step

    def __post_init__(self) -> None:
        self._held = ExitStack()
        self._publisher: Publisher | None = None
        told = partial(query_failed, data_dir=self.data, log=self.ground.log, recoverable=False)
        self._running = SparkQuery(self.ground.spark, self.query.name, self._take_one, told)

    @property
    def done(self) -> int:
        """How many batches it has published."""
        return self._running.done

    @property
    def undone(self) -> bool:
        """Always False: a start that succeeds has read and written the progress record."""
        return False

    def start(self) -> None:
        """Become the owner and go on where the progress record ends."""
        self.opened(self._held)
        publisher = self._owner()
        if self.begun(publisher):
            publisher.close()
            publisher = self._owner()  # batches of Spark follow on no others
        self._publisher = publisher
        ground, begin = self.ground, publisher.progress.offsets
        made = TemporaryDirectory(prefix=f"{self.query.name}-", dir=ground.scratch)
        checkpoint = Path(self._held.enter_context(made))
        self._held.callback(self._running.stop)
        partitions = {topic: len(begin[topic]) for topic in self.query.inputs}
        records = arriving(
            ground.spark, ground.source, begin, partitions, self.rows, headers=self.headers
        )
        self._running.start(self.follow(records), checkpoint, self.trigger_ms)

    def check(self) -> None:
        """Return while it runs; errors are those of `SparkQuery.check`."""
        self._running.check()

    def stop(self) -> None:
        """End it; the next start publishes the rest."""
        self._held.close()

    def _owner(self) -> Publisher:
        publisher = restart_from_progress(
            self.query, self.ground.kafka, self.on_step, self.with_history
        )
        self._held.callback(publisher.close)  # it and what follows, until `stop`
        return publisher

    def _take_one(self, frame: DataFrame, batch: SourceBatch) -> None:
        assert self._publisher is not None
        if batch.size:
            self.take(frame, batch, self._publisher)
        else:  # Spark begins with a batch, whether there is something new or not
            self._publisher.publish(batch, ())
