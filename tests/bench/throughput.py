"""Commands per second of the whole path, against Spark's own count by key, in one run.

Both read the same number of the same records from the same broker in batches of the same size,
keep their state in the same store, and write to Kafka; what verdict does more is the contract.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tests.application import APPLICATION
from tests.bench.cpu import cpu_by_process
from tests.bench.progress import POLL_S, WARMING, await_rows, query_named, rows_per_s
from tests.bench.settings import settings_for
from tests.bench.workload import PLAIN, Sent, command, commands, fill
from tests.hostile import hostile
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.sql.readers.reader import Reader, open_reader
from verdict.read_side.catalog import projections
from verdict.service.bootstrap import Runtime, start_runtime
from verdict.service.read_side import live_projections
from verdict.service.running import ServiceProcess
from verdict.service.supervisor import Supervisor
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import DECIDER
from verdict.streaming.queries.source import SOURCE
from verdict.write_side.decider.running import DeciderQuery

AGGREGATES = 100_000
SEED = 1
ONE_IN = 20  # is hostile: 5 %
REFUSED_IN = 5  # is refused: 20 %
FAR_AHEAD = 10_000  # a version that no order has
PACKED = {"compression.type": "gzip", "message.max.bytes": 20_000_000}  # else some are refused

REACHED = 'SELECT projection, topic, "partition", next_offset FROM projection_position'

Result = dict[str, Any]
Run = Callable[[Settings, int], Result]
Place = tuple[str, str, int]  # projection, topic, partition


def throughput(
    servers: str, folder: Path, count: int, rows: list[int], shards: int
) -> Iterator[Result]:
    """Yield a result for each way to spread the commands and each size of a batch.

    Args:
        servers: Of the broker.
        folder: Takes the data directories; the JVM of the first run keeps its own for all.
        count: Commands of each run.
        rows: Sizes of a batch, in commands.
        shards: Of the decider, and of the count.
    """
    for zipf in (False, True):
        for size in rows:
            yield _compared(servers, folder, count, zipf, max_rows_per_batch=size, shards=shards)


def _compared(servers: str, folder: Path, count: int, zipf: bool, **varied: int) -> Result:
    result: Result = {"what": "throughput", "keys": "zipf" if zipf else "uniform", **varied}
    rows = varied["max_rows_per_batch"]
    ways: dict[str, Run] = {"count": _counted, "decided": decided, "whole": _whole}
    for way, run in ways.items():
        settings = settings_for(servers, folder, f"{way}-{result['keys']}-{rows}", **varied)
        result["bytes"] = filled(servers, settings, commands(count, AGGREGATES, zipf, SEED))
        result |= {f"{way}_{name}": value for name, value in run(settings, count).items()}
        if way == "decided":
            result |= {f"projected_{name}": n for name, n in _projected(settings, count).items()}
    result["projected_to_decided"] = round(result["projected_per_s"] / result["decided_per_s"], 3)
    result["decided_to_count"] = round(result["decided_per_s"] / result["count_per_s"], 3)
    result["whole_to_count"] = round(result["whole_per_s"] / result["count_per_s"], 3)
    return result


def hostile_load(servers: str, folder: Path, count: int, shards: int) -> Iterator[Result]:
    """Yield the rates of sound commands, of 5 % hostile records and of 20 % refused commands."""
    result: Result = {"what": "hostile", "shards": shards}
    sound = commands(count, AGGREGATES, False, SEED)
    loads = {"clean": sound, "hostile": _mixed(count), "refused": _refused(count)}
    for load, sent in loads.items():
        settings = settings_for(servers, folder, load, shards=shards)
        filled(servers, settings, sent, PACKED)
        result[f"{load}_per_s"] = decided(settings, count)["per_s"]
        if load != "clean":
            ratio = result[f"{load}_per_s"] / result["clean_per_s"]
            result[f"{load}_to_clean"] = round(ratio, 3)
    yield result


def _mixed(count: int) -> Iterator[Sent]:
    bad = hostile(SEED)
    for number, sound in enumerate(commands(count, AGGREGATES, False, SEED)):
        yield sound if number % ONE_IN else Sent("", *next(bad))


def _refused(count: int) -> Iterator[Sent]:
    """Yield commands of which, beside the few stale ones, one in five expects a version ahead."""
    random, sound = Random(SEED), commands(count, AGGREGATES, False, SEED)
    for number in range(count):
        if number % REFUSED_IN:
            yield next(sound)
        else:
            order = f"order-{random.randrange(AGGREGATES):09d}"
            yield command(order, FAR_AHEAD, number, random)


def filled(
    servers: str, settings: Settings, sent: Iterator[Sent], packing: Mapping[str, Any] = PLAIN
) -> int:
    """Write the commands as `fill` does; return the mean size of a value in bytes."""
    TopicAdmin({"bootstrap.servers": servers}, settings.topics).create_missing()
    return fill(servers, settings.topics.commands("order"), sent, packing)


def _whole(settings: Settings, count: int) -> Result:
    """Decide, with the projections running beside: what `verdict up` does."""
    with ServiceProcess(settings) as running:
        query = query_named(running.spark, DECIDER)
        return _measured(query, count, running.check)


def _projected(settings: Settings, count: int) -> Result:
    """Bring all read models to the end of what was decided; return the commands per second.

    `per_s` is that of who is warm, as for deciding; `cold_per_s` is of all, from the start on.
    """
    with ExitStack() as parts:
        ground = start_runtime(settings, parts)
        wanted = _ends(ground, settings)
        began = time.perf_counter()
        component = live_projections(ground, settings)
        projecting = Supervisor(name="projections", component=component, essential=True)
        parts.callback(projecting.stop)
        projecting.start()
        reader = parts.enter_context(open_reader(settings))
        warm, since, before = 0.0, began, cpu_by_process()
        while (done := _done(reader, wanted)) < 1:
            if warm < WARMING:
                warm, since, before = done, time.perf_counter(), cpu_by_process()
            projecting.check()
            time.sleep(POLL_S)
        end, after = time.perf_counter(), cpu_by_process()
        left = count * (1 - warm)
        return {
            "per_s": round(left / (end - since)),
            "cold_per_s": round(count / (end - began)),
            "cpu_us": _each(before, after, left),
        }


def _done(reader: Reader, wanted: Mapping[Place, int]) -> float:
    """Return which share of its way the last projection has behind it."""
    reached: dict[Any, int] = {(*place,): offset for *place, offset in reader.select(REACHED).rows}
    return min(reached.get(place, 0) / end for place, end in wanted.items())


def _ends(ground: Runtime, settings: Settings) -> dict[Place, int]:
    """Return the log's end, by projection, topic and partition, of all that has records."""
    with KafkaLog({"bootstrap.servers": ground.servers}) as log:
        return {
            (projection.name, *place): kept.end
            for projection in projections(APPLICATION)
            for place, kept in log.bounds(log.places(projection.topics(settings.topics))).items()
            if kept.end
        }


def decided(settings: Settings, count: int) -> Result:
    """Decide and publish, and nothing else on the machine."""
    with ExitStack() as parts:
        ground = start_runtime(settings, parts)
        deciding = DeciderQuery(ground, settings)
        parts.callback(deciding.close)
        deciding.start()
        query = query_named(ground.spark, DECIDER)
        return _measured(query, count, deciding.check)


def _counted(settings: Settings, count: int) -> Result:
    """Let Spark count the records of each key, from Kafka to Kafka."""
    with ExitStack() as parts:
        ground = start_runtime(settings, parts)
        ground.spark.conf.set("spark.sql.shuffle.partitions", str(settings.shards))
        query = _counting(ground, settings).start()
        parts.callback(query.stop)

        def check() -> None:
            if failure := query.exception():
                raise failure

        return _measured(query, count, check)


def _measured(query: StreamingQuery, count: int, check: Callable[[], None]) -> Result:
    """Return the rate, and each kind of process's share of a command, once it is warm."""
    first, before = await_rows(query, round(count * WARMING), check), cpu_by_process()
    batches, after = await_rows(query, count, check), cpu_by_process()
    rows = sum(batch.rows for batch in batches[len(first) :])
    if not rows:
        raise SystemExit(
            f"all {count} were read in {len(batches)} batches: --commands more of them"
        )
    return {"per_s": round(rows_per_s(batches)), "cpu_us": _each(before, after, rows)}


def _each(before: Mapping[str, float], after: Mapping[str, float], count: float) -> dict[str, int]:
    """Return the microseconds of processor time that each kind of process used for a command."""
    return {kind: round((after[kind] - before.get(kind, 0.0)) / count * 1e6) for kind in after}


def _counting(ground: Runtime, settings: Settings) -> Any:
    records = (
        ground.spark.readStream.format("kafka")
        .options(**{**ground.source, **SOURCE})
        .option("subscribe", settings.topics.commands("order"))
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings.max_rows_per_batch)
        .load()
    )
    return (
        records.groupBy("key")
        .count()
        .select("key", F.col("count").cast("string").alias("value"))
        .writeStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": ground.servers})
        .option("topic", settings.topics.events("order"))
        .option("checkpointLocation", str(settings.data_dir / "count"))
        .outputMode("update")
    )
