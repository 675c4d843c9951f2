"""Commands per second of the whole path, against Spark's own count by key, in one run.

Both read the same records from the same broker in batches of the same size, keep their state in
the same store, and write to Kafka. What verdict does more is the contract.
"""

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.floor import run_count
from benchmarks.measurement import (
    fill_orders,
    query_named,
    read_batches,
    run_decider,
    settings_for,
)
from benchmarks.projections import SourceOffsets, follow, log_ends, run_projections, shown_rate
from benchmarks.results import Result
from benchmarks.workload import AGGREGATES, SEED, commands
from verdict.adapters.sql.readers.reader import open_reader
from verdict.service.running import ServiceProcess
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import DECIDER


def throughput(
    servers: str, folder: Path, count: int, rows: list[int], shards: int
) -> Iterator[Result]:
    """Yield a result for each way to spread the commands and each size of a batch."""
    for zipf in (False, True):
        for size in rows:
            yield _compared(servers, folder, count, zipf, max_rows_per_batch=size, shards=shards)


def _compared(servers: str, folder: Path, count: int, zipf: bool, **varied: int) -> Result:
    result: Result = {"what": "throughput", "keys": "zipf" if zipf else "uniform", **varied}
    rows = varied["max_rows_per_batch"]
    ways = {"count": run_count, "decided": run_decider, "whole": _run_whole}
    for way, run in ways.items():
        settings = settings_for(servers, folder, f"{way}-{result['keys']}-{rows}", **varied)
        result["bytes"] = fill_orders(settings, commands(count, AGGREGATES, zipf, SEED))
        result |= {f"{way}_{name}": value for name, value in run(settings, count).items()}
        if way == "decided":
            projected = run_projections(settings, count)
            result |= {f"projected_{name}": value for name, value in projected.items()}
    result["projected_to_decided"] = round(result["projected_per_s"] / result["decided_per_s"], 3)
    result["decided_to_count"] = round(result["decided_per_s"] / result["count_per_s"], 3)
    result["whole_to_decided"] = round(result["whole_per_s"] / result["decided_per_s"], 3)
    result["whole_to_count"] = round(result["whole_per_s"] / result["count_per_s"], 3)
    return result


def _run_whole(settings: Settings, count: int) -> Result:
    """Do what `verdict up` does, until all tables show what became of all commands."""
    with ServiceProcess(settings) as running, open_reader(settings) as reader:
        query = query_named(SparkSession.active(), DECIDER)

        def ends() -> SourceOffsets | None:
            decided = sum(batch.rows for batch in read_batches(query))
            return log_ends(settings) if decided >= count else None

        return shown_rate(follow(reader, ends, running.check), count)
