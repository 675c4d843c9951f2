"""Results as tables, and what changed since the results that the repository keeps.

Only ratios are compared, of parts of one run: machines differ, and one machine by the hour.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

LAST = Path(__file__).with_name("last.jsonl")
NOISE = 0.1  # of a ratio, between two runs of the same code
RATIO = "_to_"
TIME = "_to_bare"  # of which less is better; all other ratios are rates
VARIED = ("start", "keys", "shards", "max_rows_per_batch", "projection", "database", "processes")

Result = dict[str, Any]  # one measurement, as JSON


def show(results: list[Result]) -> None:
    """Print a table for each kind of measurement."""
    console = Console()
    for what in dict.fromkeys(result["what"] for result in results):
        rows = [result for result in results if result["what"] == what]
        names = list(dict.fromkeys(name for row in rows for name in row if name != "what"))
        table = Table(*names, title=what)
        for row in rows:
            table.add_row(*(str(row.get(name, "")) for name in names))
        console.print(table)


def compare(results: Iterable[Result], last: Path = LAST) -> Iterator[Result]:
    """Yield each ratio next to its last one, and whether it is better or worse beyond noise.

    Args:
        results: Of this run.
        last: Lines of JSON; if a measurement is there twice, the later one counts.
    """
    kept = {_about(one): one for one in map(json.loads, last.read_text().splitlines())}
    for one in results:
        before = kept.get(_about(one), {})
        for name, now in one.items():
            if RATIO in name and name in before:
                yield {
                    "what": "against the last results",
                    "measured": " ".join(_about(one)),
                    "ratio": name,
                    "last": before[name],
                    "now": now,
                    "change": _change(name, before[name], now),
                }


def _about(result: Result) -> tuple[str, ...]:
    return (result["what"], *(str(result[name]) for name in VARIED if name in result))


def _change(name: str, last: float, now: float) -> str:
    if abs(now - last) <= NOISE * last:
        return "noise"
    return "worse" if (now > last) == name.endswith(TIME) else "better"
