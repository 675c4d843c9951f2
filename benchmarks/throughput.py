"""Commands per second of the whole path, against Spark's own count by key, in one run.

Both read the same records from the same broker in batches of the same size, keep their state in
the same store, and write to Kafka. What verdict does more is the contract.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks.cpu import cpu_by_process
from benchmarks.floor import run_count
from benchmarks.measurement import (
    POLL_S,
    WARMING,
    cpu_per_record,
    fill_orders,
    query_named,
    read_batches,
    run_decider,
    servers_of,
    settings_for,
)
from benchmarks.results import Result
from benchmarks.workload import AGGREGATES, SEED, commands
from tests.application import APPLICATION
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import Reader, open_reader
from verdict.read_side.catalog import projections
from verdict.service.bootstrap import require_whole_directory, start_kafka_runtime
from verdict.service.read_side import live_projections
from verdict.service.running import ServiceProcess
from verdict.service.supervisor import Supervisor
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import DECIDER

POSITIONS = 'SELECT projection, topic, "partition", next_offset FROM projection_position'

Source = tuple[str, str, int]  # projection, topic, partition
SourceOffsets = Mapping[Source, int]


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
            projected = _run_projections(settings, count)
            result |= {f"projected_{name}": value for name, value in projected.items()}
    result["projected_to_decided"] = round(result["projected_per_s"] / result["decided_per_s"], 3)
    result["decided_to_count"] = round(result["decided_per_s"] / result["count_per_s"], 3)
    result["whole_to_count"] = round(result["whole_per_s"] / result["count_per_s"], 3)
    return result


def _run_whole(settings: Settings, count: int) -> Result:
    """Do what `verdict up` does, until all tables show what became of all commands."""
    with ServiceProcess(settings) as running, open_reader(settings) as reader:
        query = query_named(running.spark, DECIDER)

        def ends() -> SourceOffsets | None:
            decided = sum(batch.rows for batch in read_batches(query))
            return _log_ends(settings) if decided >= count else None

        return _shown_rate(_follow(reader, ends, running.check), count)


def _run_projections(settings: Settings, count: int) -> Result:
    """Bring all projections to the end of what was decided."""
    with ExitStack() as parts:
        place = require_whole_directory(settings.data_dir)
        runtime = start_kafka_runtime(settings, parts, place)
        wanted = _log_ends(settings)
        component = live_projections(runtime.kafka, settings)
        projecting = Supervisor(name="projections", component=component, essential=True)
        parts.callback(projecting.stop)
        projecting.start()
        reader = parts.enter_context(open_reader(settings))
        return _shown_rate(_follow(reader, lambda: wanted, projecting.check), count)


class Sample(NamedTuple):
    """How far the projections were at one moment, and what the processes had used by then."""

    at: float
    positions: SourceOffsets
    cpu: Mapping[str, float]

    def share(self, wanted: SourceOffsets) -> float:
        """Return which share of its way the last projection has done."""
        return min(self.positions.get(source, 0) / end for source, end in wanted.items())


def _follow(
    reader: Reader, ends: Callable[[], SourceOffsets | None], check: Callable[[], None]
) -> tuple[list[Sample], SourceOffsets]:
    """Look at the positions of the projections until they reach the ends; return both."""
    samples: list[Sample] = []
    wanted = None
    while wanted is None or samples[-1].share(wanted) < 1:
        check()
        wanted = wanted or ends()
        rows = reader.select(POSITIONS).rows
        positions = {
            (str(name), str(topic), int(number)): int(offset)
            for name, topic, number, offset in rows
        }
        samples.append(Sample(time.perf_counter(), positions, cpu_by_process()))
        time.sleep(POLL_S)
    return samples, wanted


def _shown_rate(followed: tuple[list[Sample], SourceOffsets], count: int) -> Result:
    """Return the rate at which all tables show commands, once it is warm; `cold_per_s` is of all.

    A table shows a share of the commands as soon as its projection has read that share of its log.
    """
    samples, wanted = followed
    first, last = samples[0], samples[-1]
    warm = next(sample for sample in samples if sample.share(wanted) >= WARMING)
    left = count * (1 - warm.share(wanted))
    if not left:
        raise SystemExit(f"all {count} commands were shown before it was warm: use more of them")
    return {
        "per_s": round(left / (last.at - warm.at)),
        "cold_per_s": round(count / (last.at - first.at)),
        "cpu_us": cpu_per_record(warm.cpu, last.cpu, left),
    }


def _log_ends(settings: Settings) -> SourceOffsets:
    """Return the log's end, by projection, topic and partition, of all that has records."""
    with KafkaLog({"bootstrap.servers": servers_of(settings)}) as log:
        return {
            (projection.name, *partition): kept.end
            for projection in projections(APPLICATION)
            for partition, kept in log.bounds(
                log.places(projection.topics(settings.topics))
            ).items()
            if kept.end
        }
