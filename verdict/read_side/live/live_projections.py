"""All projections of a process on their way forward, in groups.

A projection's position in SQL is the truth: it moves in the transaction that changes the tables, so
what is applied twice, by whomever, changes nothing.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Protocol

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql.sqlite_file import DatabaseFileChangedError, one_line_error
from verdict.adapters.sql.time_text import wall_clock
from verdict.read_side.live.projection_runner import reached_in
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.database import (
    failing_in_words,
    require_same_database,
    snapshot,
)
from verdict.read_side.tables import position, versions
from verdict.wire.partitions import PartitionOffsets, Spans
from verdict.wire.topics import Topics

NAME = "projections"
LOG = logging.getLogger("verdict.read_side")
NEAR = 100_000  # offsets, which are read again in some seconds
LOOK_S = 1.0  # between two looks at the file of the database


class GroupRunner(Protocol):
    """What brings a group forward, from `start` to `stop`."""

    @property
    def done(self) -> int:
        """How many steps it has finished."""
        ...

    def start(self) -> None: ...
    def check(self) -> None:
        """Return while it runs; raise what ended it."""
        ...

    def stop(self) -> None: ...


class LiveProjections:
    """The running read side, from `start` to `stop`, and again.

    Args:
        open_tables: Creates what is missing; returns the database, and the projections in the order
            of their updates.
        log_bounds: Returns where the partitions of topics begin and end.
        topics: Of the deployment.
        runner: Returns what brings a group of projections forward.
        processes: Into how many groups projections at about the same offsets are split.
        near: Offsets by which projections of a group differ at most.
    """

    undone = False  # a start that succeeds has asked the database and Kafka

    def __init__(
        self,
        open_tables: Callable[[], tuple[Engine, Sequence[Projection]]],
        log_bounds: Callable[[Collection[str]], Spans],
        topics: Topics,
        runner: Callable[[str, Sequence[str]], GroupRunner],
        processes: int = 1,
        near: int = NEAR,
    ) -> None:
        self._open_tables = open_tables
        self._log_bounds = log_bounds
        self._topics = topics
        self._runner = runner
        self._processes = processes
        self._near = near
        self._database: Engine | None = None
        self._projections: Sequence[Projection] = ()
        self._runners: list[GroupRunner] = []
        self._held = ExitStack()
        self._look_at = 0.0

    @property
    def done(self) -> int:
        """How many steps all groups have finished since the start."""
        return sum(one.done for one in self._runners)

    def start(self) -> None:
        """Begin at the positions in the database."""
        self._database = None  # else an error of this start may be written into the former database
        self._database, self._projections = self._open_tables()
        self._held.callback(self._database.dispose)  # the last one moves SQLite's log to its file
        self._runners = [
            self._runner(NAME if number == 1 else f"{NAME} {number}", group)
            for number, group in enumerate(self._groups(), 1)
        ]
        for runner in self._runners:
            self._held.callback(runner.stop)
            runner.start()

    def is_ready(self) -> bool:
        """Tell whether every group has read Kafka and its tables."""
        return all(one.done for one in self._runners)

    def check(self) -> None:
        """Return while all groups run."""
        for runner in self._runners:
            runner.check()
        if self._database is not None and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_S
            require_same_database(self._database)

    def stop(self) -> None:
        """End all groups; what they have not committed by then comes after the next start."""
        self._held.close()

    def note_end(self, error: Exception) -> None:
        """Stop, and record for readers that all of them are stopped, and why."""
        self.stop()
        if self._database is None:
            return
        try:
            with self._database.begin() as connection:
                for projection in self._projections:
                    if versions.of(connection, projection).error is None:
                        versions.stop(connection, projection, error, wall_clock())
        except DatabaseFileChangedError:
            pass  # `error` says so already, and the file in its place is not ours to write to
        except DBAPIError as failure:
            LOG.error("that could not be recorded: %s", one_line_error(failure.orig))

    def _groups(self) -> list[list[str]]:
        assert self._database is not None
        with failing_in_words(self._database), snapshot(self._database) as connection:
            positions = {one.name: position.load(connection, one) for one in self._projections}
        follows = {one.name: one.topics(self._topics) for one in self._projections}
        log = self._log_bounds(sorted({topic for of in follows.values() for topic in of}))
        reached: dict[str, PartitionOffsets] = {
            name: reached_in(log, topics, positions[name]) for name, topics in follows.items()
        }
        return grouped(reached, self._processes, self._near)


def grouped(
    reached: Mapping[str, PartitionOffsets], processes: int, near: int = NEAR
) -> list[list[str]]:
    """Return which projections are brought forward together; each is in one group.

    Those that have reached about the same offsets share what is read and decoded. One that is far
    behind, such as a new one, is in another group: the others do not wait for it.

    Args:
        reached: The next offset in each partition that a projection follows, by projection.
        processes: Into so many groups those at about the same offsets are split.
        near: Offsets by which members of a group differ at most.
    """
    together: list[list[str]] = []
    for name, offsets in reached.items():
        for group in together:
            if all(distance(offsets, reached[other]) <= near for other in group):
                group.append(name)
                break
        else:
            together.append([name])
    return [part for group in together for part in _split(group, reached, processes)]


def distance(one: PartitionOffsets, other: PartitionOffsets) -> int:
    """Return how many offsets two projections are apart, in the partitions that both follow."""
    return sum(abs(one[place] - other[place]) for place in one.keys() & other.keys())


def _split(
    names: Sequence[str], reached: Mapping[str, PartitionOffsets], parts: int
) -> list[list[str]]:
    """Return `names` in so many groups, which have read about the same number of records."""
    records = {name: sum(offset + 1 for offset in reached[name].values()) for name in names}
    groups: list[list[str]] = [[] for _ in range(parts)]
    for name in sorted(names, key=lambda name: -records[name]):
        min(groups, key=lambda group: sum(records[one] for one in group)).append(name)
    return [group for group in groups if group]
