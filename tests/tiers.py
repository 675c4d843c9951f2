"""Which test runs when: marks from what it uses, and two rules for tests that have no mark.

`make check` runs what has none, so that has to be quick and to need nothing but Python.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

QUICK, THOROUGH = "quick", "thorough"  # hypothesis's profiles
CPU_S = 5.0  # a second or two, but a busy or rented core is slow
LATER = {"kafka", "spark", "postgresql", "process", "slow", "long", "thorough", "campaign"}
SERVICES = {"e2e", "demo", "testing"}  # folders of tests that start whole services
BY_FIXTURE = {"proxied": "kafka", "spark": "spark", "postgresql": "postgresql"}

_started: list[str] = []


def mark(item: pytest.Item) -> None:
    """Mark a test after the services that it uses.

    Its run on the second kind of database is `thorough`, but for `both_databases`.
    """
    for fixture, name in BY_FIXTURE.items():
        if fixture in getattr(item, "fixturenames", ()):
            item.add_marker(name)
    if "e2e" in item.path.parts:
        item.add_marker("process")
    parameters: dict[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    if parameters.get("new_database") == "postgresql":
        item.add_marker("postgresql")
        if item.get_closest_marker("both_databases") is None:
            item.add_marker("thorough")


def spread(items: list[pytest.Item]) -> None:
    """Spread the files that start whole services evenly: several at once would starve each other.

    Lanes take file after file, in this order.
    """
    of_services: dict[Path, int] = {}
    others: dict[Path, int] = {}
    for item in items:
        kind = others if SERVICES.isdisjoint(item.path.parts) else of_services
        kind.setdefault(item.path, len(kind))
    place = {
        path: (number + 0.5) / len(kind)
        for kind in (of_services, others)
        for path, number in kind.items()
    }
    items.sort(key=lambda item: place[item.path])


def is_thorough() -> bool:
    """Return whether `make thorough` runs, for tests that take more steps then."""
    return settings.get_current_profile_name() == THOROUGH


def examples(count: int) -> int:
    """Return how many to look at, of `count` in the thorough profile."""
    return count if is_thorough() else max(5, count // 10)


def the_first_of(*cases: object) -> list[object]:
    """Return parameters of which `make test` takes the first; a tuple is of several arguments."""
    first, *others = cases
    several = [other if isinstance(other, tuple) else (other,) for other in others]
    return [first, *(pytest.param(*other, marks=pytest.mark.thorough) for other in several)]


def is_unmarked(item: pytest.Item) -> bool:
    """Return whether `make check` runs a test."""
    return LATER.isdisjoint(marker.name for marker in item.iter_markers())


@contextmanager
def held_small() -> Iterator[None]:
    """Fail if a process is started, or if this process computes for longer than a moment.

    What the clock on the wall says is not asked: whatever else the machine does is not counted.
    More examples may take longer.
    """
    began = time.process_time()
    yield
    taken = time.process_time() - began
    if _started:
        pytest.fail(f"mark it `process`, as it starts {_started[0]}", pytrace=False)
    if taken > CPU_S and not is_thorough():
        pytest.fail(
            f"it computed for {taken:.1f} s, and each commit waits for it: "
            f"make it smaller, or mark it `slow`",
            pytrace=False,
        )


def forget_processes() -> None:
    """Count the processes that are started from now on."""
    _started.clear()


def _notice(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        _started.append(str(arguments[0]))


sys.addaudithook(_notice)
