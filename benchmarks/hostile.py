"""What hostile records and rejected commands cost, against the same number of good commands."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.measurement import fill_orders, run_decider, settings_for
from benchmarks.results import Result
from benchmarks.workload import AGGREGATES, SEED, Sent, command, commands
from tests.hostile import hostile

HOSTILE_ONE_IN = 20
REJECTED_ONE_IN = 5
FAR_AHEAD = 10_000  # a version that no order has
PACKED = {"compression.type": "gzip", "message.max.bytes": 20_000_000}  # else some are refused


def hostile_load(servers: str, folder: Path, count: int, shards: int) -> Iterator[Result]:
    """Yield the rates of good commands, of 5 % hostile records and of 20 % rejected commands."""
    result: Result = {"what": "hostile", "shards": shards}
    good = commands(count, AGGREGATES, False, SEED)
    loads = {"clean": good, "hostile": _mixed(count), "refused": _rejected(count)}
    for load, sent in loads.items():
        settings = settings_for(servers, folder, load, shards=shards)
        fill_orders(settings, sent, PACKED)
        result[f"{load}_per_s"] = run_decider(settings, count)["per_s"]
        if load != "clean":
            ratio = result[f"{load}_per_s"] / result["clean_per_s"]
            result[f"{load}_to_clean"] = round(ratio, 3)
    yield result


def _mixed(count: int) -> Iterator[Sent]:
    bad = hostile(SEED)
    for number, good in enumerate(commands(count, AGGREGATES, False, SEED)):
        yield good if number % HOSTILE_ONE_IN else Sent("", *next(bad))


def _rejected(count: int) -> Iterator[Sent]:
    """Yield commands; one in five expects a version ahead, in addition to the few stale ones."""
    random, good = Random(SEED), commands(count, AGGREGATES, False, SEED)
    for number in range(count):
        if number % REJECTED_ONE_IN:
            yield next(good)
        else:
            order = f"order-{random.randrange(AGGREGATES):09d}"
            yield command(order, FAR_AHEAD, number, random)
