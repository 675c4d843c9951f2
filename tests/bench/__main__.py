"""`make bench`: what verdict can do on this machine, in the configuration of `verdict up`.

Prints a JSON object per measurement as it is made (and appends it to --out), then all of them as
tables, and its ratios beside the last ones in the repository. Take a machine that does nothing
else; a number is worth what its neighbours in the same run are worth.
"""

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from tests.bench.clustered import clustered
from tests.bench.compared import compared
from tests.bench.cpu import operator_steps
from tests.bench.idle import idle
from tests.bench.latency import latency
from tests.bench.letters import letters
from tests.bench.reactions import reactions
from tests.bench.rebuild import rebuild
from tests.bench.senders import senders
from tests.bench.shard_state import shard_state
from tests.bench.startup import startup
from tests.bench.throughput import hostile_load, throughput
from tests.bench.timeline import timeline
from verdict.adapters.local.broker import EmbeddedBroker

Result = dict[str, Any]
Section = Callable[[], Iterator[Result]]
SIZES = [10_000, 1_000_000, 10_000_000]
SECTIONS = (
    "steps",
    "state",
    "startup",
    "idle",
    "latency",
    "timeline",
    "throughput",
    "hostile",
    "cluster",
    "rebuild",
    "reactions",
    "letters",
    "senders",
)


def main() -> None:
    """Run the sections that were asked for."""
    options = _options()
    results: list[Result] = []
    with ExitStack() as parts:
        out = parts.enter_context(options.out.open("a"))
        folder = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="verdict-bench-")))
        for result in chain([_machine()], _measured(options, folder, parts)):
            line = json.dumps(result)
            print(line, flush=True)
            print(line, file=out, flush=True)
            results.append(result)
    _show([*results, *compared(results)])


def _measured(options: argparse.Namespace, folder: Path, parts: ExitStack) -> Iterator[Result]:
    alone: dict[str, Section] = {
        "steps": operator_steps,
        "state": lambda: shard_state(folder / "state", options.aggregates),
        "startup": lambda: startup(folder),
        "idle": lambda: idle(folder),
    }
    for name, section in alone.items():
        if name in options.sections:
            yield from section()
    broker = parts.enter_context(EmbeddedBroker(folder / "broker"))
    for name, section in _on_a_broker(broker.bootstrap_servers, folder, options).items():
        if name in options.sections:
            yield from section()


def _on_a_broker(servers: str, folder: Path, options: argparse.Namespace) -> Mapping[str, Section]:
    count, shards = options.commands, options.shards
    return {
        "latency": lambda: chain.from_iterable(
            latency(servers, folder, number, options.seconds) for number in (1, 2)
        ),
        "timeline": lambda: timeline(servers, folder, options.seconds),
        "throughput": lambda: throughput(servers, folder, count, options.rows, shards),
        "hostile": lambda: hostile_load(servers, folder, count, shards),
        "cluster": lambda: clustered(servers, folder, count, options.rows, shards),
        "rebuild": lambda: rebuild(servers, folder, options.events),
        "reactions": lambda: reactions(servers, folder, options.invoices, shards),
        "letters": lambda: letters(servers, folder, options.letters),
        "senders": lambda: senders(servers, count),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar=f"{{{','.join(SECTIONS)}}}")
    parser.add_argument("--commands", type=int, default=400_000, help="of each throughput run")
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000], help="of a batch")
    parser.add_argument("--shards", type=int, default=2, help="of the throughput runs")
    parser.add_argument("--aggregates", type=int, nargs="+", default=SIZES, help="of a shard")
    parser.add_argument("--events", type=int, default=1_200_000, help="of each rebuild")
    parser.add_argument("--invoices", type=int, default=60_000, help="of the reactions")
    parser.add_argument("--letters", type=int, default=50_000, help="of each database")
    parser.add_argument("--seconds", type=float, default=60, help="of each latency run")
    parser.add_argument("--out", type=Path, default=Path("bench.jsonl"))
    options = parser.parse_args()
    options.sections = options.sections or SECTIONS
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


def _show(results: list[Result]) -> None:
    console = Console()
    for what in dict.fromkeys(result["what"] for result in results):
        rows = [result for result in results if result["what"] == what]
        table = Table(title=what)
        names = list(dict.fromkeys(name for row in rows for name in row if name != "what"))
        for name in names:
            table.add_column(name)
        for row in rows:
            table.add_row(*(str(row.get(name, "")) for name in names))
        console.print(table)


if __name__ == "__main__":
    main()
