"""How fast the projections bring their tables to the end of what was decided, by processes."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from benchmarks.cpu import cpu_by_process
from benchmarks.measurement import (
    POLL_S,
    WARMING,
    cpu_per_record,
    fill_orders,
    run_decider,
    servers_of,
    settings_for,
)
from benchmarks.results import Result
from benchmarks.workload import AGGREGATES, SEED, commands
from tests.application import APPLICATION
from tests.postgresql import server
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import Reader, open_reader
from verdict.read_side.catalog import projections
from verdict.service.bootstrap import require_whole_directory, start_kafka_runtime
from verdict.service.read_side import live_projections
from verdict.service.supervisor import Supervisor
from verdict.settings.settings import Settings

POSITIONS = 'SELECT projection, topic, "partition", next_offset FROM projection_position'
PROCESSES = (1, 2, 4)

Source = tuple[str, str, int]  # projection, topic, partition
SourceOffsets = Mapping[Source, int]


def by_processes(servers: str, folder: Path, count: int, shards: int) -> Iterator[Result]:
    """Decide once, then yield a result for each database and number of processes."""
    settings = settings_for(servers, folder, "by-processes", shards=shards)
    fill_orders(settings, commands(count, AGGREGATES, False, SEED))
    decided = run_decider(settings, count)["per_s"]
    with server() as postgresql:
        for processes in PROCESSES:
            for database in ("sqlite", "postgresql"):
                with ExitStack() as parts:
                    url = f"sqlite:///{folder / f'read-{processes}.db'}"
                    if database == "postgresql":
                        url = parts.enter_context(postgresql.database())
                    varied = {"database_url": SecretStr(url), "projection_processes": processes}
                    found = run_projections(settings.model_copy(update=varied), count)
                yield {
                    "what": "projections",
                    "database": database,
                    "processes": processes,
                    **found,
                    "projected_to_decided": round(found["per_s"] / decided, 3),
                }


def run_projections(settings: Settings, count: int) -> Result:
    """Bring all projections to the end of what was decided."""
    with ExitStack() as parts:
        place = require_whole_directory(settings.data_dir)
        runtime = start_kafka_runtime(settings, parts, place)
        wanted = log_ends(settings)
        component = live_projections(runtime.kafka, settings)
        projecting = Supervisor(name="projections", component=component, essential=True)
        parts.callback(projecting.stop)
        projecting.start()
        reader = parts.enter_context(open_reader(settings))
        return shown_rate(follow(reader, lambda: wanted, projecting.check), count)


class Sample(NamedTuple):
    """How far the projections were at one moment, and what the processes had used by then."""

    at: float
    positions: SourceOffsets
    cpu: Mapping[str, float]

    def share(self, wanted: SourceOffsets) -> float:
        """Return which share of its way the last projection has done."""
        return min(self.positions.get(source, 0) / end for source, end in wanted.items())


def follow(
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


def shown_rate(followed: tuple[list[Sample], SourceOffsets], count: int) -> Result:
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


def log_ends(settings: Settings) -> SourceOffsets:
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
