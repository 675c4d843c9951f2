"""What the sections share: settings, streaming queries under a load, and their rates."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.cpu import cpu_by_process
from benchmarks.results import Result
from benchmarks.workload import PLAIN, Sent, fill
from tests.application import APPLICATION
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.service.bootstrap import start_runtime
from verdict.settings.load import load_settings
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import DECIDER
from verdict.write_side.decider_query.decider_query import DeciderQuery

LOCATION = frozenset({"data_dir", "bootstrap_servers", "deployment", "topic_prefix"})
VARIED = frozenset({"shards", "max_rows_per_batch", "spark_master", "shared_dir", "spark"})
WARMING = 1 / 3  # of the batches: until then the JVM compiles what it runs
POLL_S = 0.2


class BatchTime(NamedTuple):
    """One micro-batch: its input rows, and how long it took from trigger to commit."""

    rows: int
    ms: int


class RunningQuery(NamedTuple):
    """A query under a load; `check` raises what stopped it."""

    query: StreamingQuery
    check: Callable[[], None]


def settings_for(servers: str, folder: Path, name: str, **varied: Any) -> Settings:
    """Return what `verdict up` would run with, except for its location and what is varied."""
    assert set(varied) <= VARIED, varied
    return load_settings(
        APPLICATION,
        data_dir=folder / name,
        bootstrap_servers=servers,
        deployment=name,
        topic_prefix=f"{name}-",
        **varied,
    )


def servers_of(settings: Settings) -> str:
    """Return the broker's address, which `settings_for` has set."""
    assert settings.bootstrap_servers is not None
    return settings.bootstrap_servers


def create_topics(settings: Settings) -> None:
    """Create the topics of a deployment."""
    TopicAdmin({"bootstrap.servers": servers_of(settings)}, settings.topics).create_missing()


def fill_orders(
    settings: Settings, sent: Iterator[Sent], packing: Mapping[str, Any] = PLAIN
) -> int:
    """Create the topics and write the commands; return the mean size of a value in bytes."""
    create_topics(settings)
    return fill(servers_of(settings), settings.topics.commands("order"), sent, packing)


def run_decider(settings: Settings, count: int) -> Result:
    """Decide and publish `count` commands, with nothing else running on the machine."""
    with running_decider(settings) as (query, check):
        return measure(query, count, check)


@contextmanager
def running_decider(settings: Settings) -> Iterator[RunningQuery]:
    """Run the decider alone."""
    with ExitStack() as parts:
        runtime = start_runtime(settings, parts)
        decider = DeciderQuery(runtime, settings)
        parts.callback(decider.close)
        decider.start()
        yield RunningQuery(query_named(runtime.spark, DECIDER), decider.check)


def measure(query: StreamingQuery, count: int, check: Callable[[], None]) -> Result:
    """Return the rate of a query, and the processor time of a record, once it is warm."""
    first, before = await_rows(query, round(count * WARMING), check), cpu_by_process()
    batches, after = await_rows(query, count, check), cpu_by_process()
    rows = sum(batch.rows for batch in batches[len(first) :])
    if not rows:
        raise SystemExit(
            f"all {count} records were read in {len(batches)} batches, so none was measured "
            "when it was warm: use more records or smaller batches"
        )
    return {"per_s": round(rows_per_s(batches)), "cpu_us": cpu_per_record(before, after, rows)}


def query_named(spark: SparkSession, name: str) -> StreamingQuery:
    """Return the running query of that name."""
    return next(query for query in spark.streams.active if query.name == name)


def await_rows(query: StreamingQuery, rows: int, check: Callable[[], None]) -> list[BatchTime]:
    """Return the non-empty batches of `query` once they have read `rows` rows in all."""
    while True:
        check()
        batches = read_batches(query)
        if sum(batch.rows for batch in batches) >= rows:
            return batches
        time.sleep(POLL_S)


def read_batches(query: StreamingQuery) -> list[BatchTime]:
    """Return the batches that read something so far."""
    return [
        BatchTime(progress.numInputRows, progress.durationMs["triggerExecution"])
        for progress in query.recentProgress
        if progress.numInputRows
    ]


def rows_per_s(batches: list[BatchTime]) -> float:
    """Return the rate of the batches after the warming ones."""
    warm = batches[int(len(batches) * WARMING) :]
    return sum(batch.rows for batch in warm) / sum(batch.ms for batch in warm) * 1000


def cpu_per_record(
    before: Mapping[str, float], after: Mapping[str, float], count: float
) -> dict[str, int]:
    """Return the microseconds of processor time that each kind of process used for a record."""
    return {kind: round((after[kind] - before.get(kind, 0.0)) / count * 1e6) for kind in after}
