"""What a read model shows of a history, by its tables and views on SQLite."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verdict.model.application import Application
from verdict.read_side.projections.projection import Projection
from verdict.testing.diff import difference, told
from verdict.testing.log import MemoryLog
from verdict.testing.read_side import ReadSide
from verdict.wire.topics import Topics
from verdict.write_side.decide.record import StoredEvent

Row = Mapping[str, object]


@dataclass(frozen=True)
class ShownRows:
    """A view of a read model that has seen a history."""

    application: Application
    history: Sequence[StoredEvent]
    read_model: Projection
    view: str

    def then(self, *rows: Row) -> None:
        """Expect exactly these rows, in any order.

        Raises:
            AssertionError: The view shows something else, or an event could not be applied.
        """
        __tracebackhide__ = True  # pytest shows the line of the test instead
        found = self.rows()
        wanted = sorted(map(dict, rows), key=_shown)
        if len({frozenset(row) for row in wanted}) > 1:
            raise ValueError("name the same columns in every row")
        named = wanted[0] if wanted else (found[0] if found else {})
        came = sorted(({name: row.get(name) for name in named} for row in found), key=_shown)
        if wanted != came:
            raise difference(
                f"{self.view} shows something else",
                told(self.history),
                [f"SELECT {', '.join(named) or '*'} FROM {self.view}"],
                [*map(repr, wanted)],
                [*map(repr, came)],
            )

    def rows(self) -> list[dict[str, Any]]:
        """Return what the view shows.

        Raises:
            AssertionError: An event could not be applied.
        """
        with tempfile.TemporaryDirectory(prefix="verdict-") as folder:
            side = ReadSide(Path(folder), Topics(self.application), [self.read_model], lambda: 0)
            try:
                self._see(side)
                return side.select(f"SELECT * FROM {self.view}")
            finally:
                side.close()

    def _see(self, side: ReadSide) -> None:
        topics = Topics(self.application)
        log = MemoryLog(topics)
        for one in self.history:
            event = one.event
            topic, key = topics.events(event.aggregate_type), event.aggregate_id.encode()
            log.append(topic, key, one.value, event.decided_at)
        for applied in side.follow(log):
            for gap in applied.gaps:
                raise AssertionError(f"{self.read_model.name} fails: {gap.fault}") from gap.fault
        [applier] = side.appliers
        if applier.failure is not None:
            what = f"{self.read_model.name} fails: {applier.failure}"
            raise AssertionError(what) from applier.failure


def _shown(row: Row) -> str:
    return repr(sorted(row.items()))
