"""What verdict can do on this machine, in the configuration of `verdict up`.

Prints a JSON object per measurement as it is made (and appends it to --out), then all of them as
tables, and compares its ratios with the last ones in the repository. Take a machine that does
nothing else; compare a number only with others of the same run.
"""

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.cluster import cluster
from benchmarks.dead_letters import dead_letters
from benchmarks.floor import batch_times, floor
from benchmarks.hostile import hostile_load
from benchmarks.latency import latency
from benchmarks.policies import policies
from benchmarks.projections import by_processes
from benchmarks.rebuild import rebuild
from benchmarks.recover import recovery
from benchmarks.results import Result, compare, show
from benchmarks.senders import senders
from benchmarks.startup import idle, startup
from benchmarks.state import shard_state
from benchmarks.steps import steps
from benchmarks.throughput import throughput
from benchmarks.timeline import timeline
from verdict.adapters.local.broker import EmbeddedBroker

SIZES = [10_000, 1_000_000, 10_000_000]


class Options(argparse.Namespace):
    """What was asked for on the command line."""

    sections: Sequence[str]
    commands: int
    rows: list[int]
    shards: int
    aggregates: list[int]
    events: int
    invoices: int
    dead_letters: int
    seconds: float
    out: Path


class Section(NamedTuple):
    """A part of the benchmarks; `run` takes the broker's address, or "" if it needs none."""

    about: str
    run: Callable[[str, Path, Options], Iterator[Result]]
    broker: bool = True


SECTIONS = {
    "steps": Section(
        "Processor time of each step of one accepted command in the operator.",
        lambda _, folder, options: steps(),
        broker=False,
    ),
    "state": Section(
        "Bytes and time of a shard's state, by the number of its aggregates.",
        lambda _, folder, options: shard_state(folder / "state", options.aggregates),
        broker=False,
    ),
    "startup": Section(
        "Seconds of `verdict up` until the first outcome, against a bare start of Kafka and Spark.",
        lambda _, folder, options: startup(folder),
        broker=False,
    ),
    "idle": Section(
        "Processor time and memory of an idle service.",
        lambda _, folder, options: idle(folder),
        broker=False,
    ),
    "latency": Section(
        "Milliseconds until a response can be read, at 500 and at 2 commands per second.",
        lambda servers, folder, options: chain.from_iterable(
            latency(servers, folder, shards, options.seconds) for shards in (1, 2)
        ),
    ),
    "timeline": Section(
        "Where the time of one batch of the decider goes.",
        lambda servers, folder, options: timeline(servers, folder, options.seconds),
    ),
    "floor": Section(
        "The decider against a bare stateful query that writes two records per command.",
        lambda servers, folder, options: chain(
            floor(servers, folder, options.commands, options.rows, options.shards),
            batch_times(servers, folder, options.shards, options.seconds),
        ),
    ),
    "throughput": Section(
        "Spark's count by key, the decider, the projections, and the whole path to all tables.",
        lambda servers, folder, options: throughput(
            servers, folder, options.commands, options.rows, options.shards
        ),
    ),
    "projections": Section(
        "All projections by 1, 2 and 4 processes, on SQLite and on PostgreSQL.",
        lambda servers, folder, options: by_processes(
            servers, folder, options.commands, options.shards
        ),
    ),
    "hostile": Section(
        "The decider's rate with hostile records, and with rejected commands.",
        lambda servers, folder, options: hostile_load(
            servers, folder, options.commands, options.shards
        ),
    ),
    "cluster": Section(
        "The decider on a Spark cluster against the same one in a single process.",
        lambda servers, folder, options: cluster(
            servers, folder, options.commands, options.rows, options.shards
        ),
    ),
    "rebuild": Section(
        "Building a projection again, against inserting its final rows.",
        lambda servers, folder, options: rebuild(servers, folder, options.events),
    ),
    "recover": Section(
        "Rebuilding the decider's state from all events and responses.",
        lambda servers, folder, options: recovery(servers, folder, options.events, options.shards),
    ),
    "policies": Section(
        "Events to commands through a policy, and the decider on these commands.",
        lambda servers, folder, options: policies(
            servers, folder, options.invoices, options.shards
        ),
    ),
    "dead-letters": Section(
        "A backlog of dead letters into the table, and back to Kafka.",
        lambda servers, folder, options: dead_letters(servers, folder, options.dead_letters),
    ),
    "senders": Section(
        "Commands per second that one Python client sends, and eight at once.",
        lambda servers, _, options: senders(servers, options.commands),
    ),
}


def main() -> None:
    """Run the sections that were asked for."""
    options = _options()
    results: list[Result] = []
    with options.out.open("a") as out:
        for result in chain([_machine()], _measurements(options)):
            line = json.dumps(result)
            print(line, flush=True)
            print(line, file=out, flush=True)
            results.append(result)
    show([*results, *compare(results)])


def _measurements(options: Options) -> Iterator[Result]:
    chosen = [section for name, section in SECTIONS.items() if name in options.sections]
    with ExitStack() as parts:
        temporary = tempfile.TemporaryDirectory(prefix="verdict-bench-")
        folder = Path(parts.enter_context(temporary))
        servers = ""
        for section in chosen:  # in their order: the first ones are measured without a broker
            if section.broker and not servers:
                broker = parts.enter_context(EmbeddedBroker(folder / "broker"))
                servers = broker.bootstrap_servers
            yield from section.run(servers, folder, options)


def _options() -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog="\n".join(
            ["sections:", *(f"  {name:13} {about}" for name, (about, *_) in SECTIONS.items())]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="see below; default: all")
    parser.add_argument("--commands", type=int, default=400_000, help="of each throughput run")
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000], help="of a batch")
    parser.add_argument("--shards", type=int, default=2, help="of the throughput runs")
    parser.add_argument("--aggregates", type=int, nargs="+", default=SIZES, help="of a shard")
    parser.add_argument("--events", type=int, default=200_000, help="of rebuild and recover")
    parser.add_argument("--invoices", type=int, default=60_000, help="of the policies")
    parser.add_argument("--dead-letters", type=int, default=50_000, help="of each database")
    parser.add_argument("--seconds", type=float, default=60, help="of each latency run")
    parser.add_argument("--out", type=Path, default=Path("bench.jsonl"))
    options = parser.parse_args(namespace=Options())
    options.sections = options.sections or [*SECTIONS]
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(unknown)}: there are {', '.join(SECTIONS)}")
    return options


def _machine() -> Result:
    return {
        "what": "machine",
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
        "system": platform.system(),
        "load": round(os.getloadavg()[0], 2),
    }


if __name__ == "__main__":
    main()
