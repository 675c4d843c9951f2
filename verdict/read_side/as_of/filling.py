"""The tables of a projection as of a position, in a database of their own."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import Engine

from verdict.adapters.local import permissions
from verdict.adapters.sql.readers.reader import Reader
from verdict.errors import UnreachableError, VerdictError
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.apply.overrides import amended
from verdict.read_side.as_of.moment import ResolvedPosition
from verdict.read_side.projections.projection import Projection
from verdict.read_side.rebuild.log_replay import decoded, replay
from verdict.read_side.schema import creation
from verdict.read_side.tables import blocked
from verdict.read_side.tables.blocked import AggregateKey, BlockedAggregate, Held
from verdict.streaming.event_log.event_log import EventLog
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

PREFIX = "export-"
SHOWN = 20
IN_FORCE = """\
SELECT aggregate_type, aggregate_id, event_version, after FROM projection_intervention
WHERE projection = :projection AND kind IN ('edit', 'evict') ORDER BY seq"""
QUARANTINED = (
    "SELECT topic, aggregate_type, aggregate_id, version, error FROM aggregate_quarantined"
)
ACCEPTED = """\
SELECT aggregate_type, aggregate_id, event_version FROM projection_intervention
WHERE projection = :projection AND kind = 'accept'"""


class IncompleteExportError(VerdictError):
    """An aggregate is held, and its rows would be too old."""

    def __init__(self, name: str, held: Held, of_events: bool = True) -> None:
        (kind, one), hold = next(iter(held.items()))
        fix = "edit or skip it, or fix the projection" if of_events else "have it written again"
        lacks = f"version {hold.version_needed} of {kind} {one!r} is missing"
        shown = ", ".join(f"{name}/{kind}/{one}" for kind, one in [*held][:SHOWN])
        more = f" and {len(held) - SHOWN} more" if len(held) > SHOWN else ""
        super().__init__(
            f"{name} cannot be exported: {len(held)} aggregates are blocked: {shown}{more}; the "
            f"first: {hold.error or lacks}; see `verdict blocked list`: {fix}; or go on with what "
            "they were before, each with `verdict blocked accept ID --reason …`"
        )


@dataclass(frozen=True, slots=True)
class AsOfRecords:
    """All records of topics, from the archive where Kafka has dropped them.

    Without a read side no decision of people is known: an event that cannot be applied is refused.
    """

    log: EventLog
    topics: Topics
    archive: Callable[[], AbstractContextManager[Reader]]

    def quarantined(self, projection: Projection) -> dict[AggregateKey, BlockedAggregate]:
        """Return the aggregates with a damaged history, of those that a projection follows."""
        followed = projection.topics(self.topics)
        return {
            (kind, name): BlockedAggregate(version, version, 0, error)
            for topic, kind, name, version, error in self.select(QUARANTINED, {})
            if topic.replace(".responses", ".events") in followed
        }

    def select(self, statement: str, parameters: dict[str, str]) -> list[tuple[Any, ...]]:
        """Return rows of the read side, none where there is no read side."""
        try:
            with self.archive() as reader:
                return [*reader.select(statement, parameters).rows]  # they end with the reader
        except UnreachableError:
            return []


def fill(
    engine: Engine, projection: Projection, records: AsOfRecords, resolved: ResolvedPosition
) -> None:
    """Make the tables, and apply what is before the position."""
    fold(engine, projection, records, resolved.ends, partial(_is_in, resolved.until))
    accepted = {*records.select(ACCEPTED, {"projection": projection.name})}
    with engine.connect() as connection:
        held = {**records.quarantined(projection), **blocked.load(connection, projection)}
    waiting = {
        key: held[key] for key in sorted(held) if (*key, held[key].version_needed) not in accepted
    }
    if waiting:
        raise IncompleteExportError(projection.name, waiting, projection.waits_for_events)


def fold(
    engine: Engine,
    projection: Projection,
    records: AsOfRecords,
    ends: Mapping[TopicPartition, int],
    wanted: Callable[[Delivery], bool],
) -> None:
    """Create the tables and apply all before `ends`; aggregates are blocked as in live ones."""
    with engine.begin() as connection:
        creation.create(connection, [projection])
    applier = Applier(engine, projection, records.topics, live=False)
    rows = records.select(IN_FORCE, {"projection": projection.name})
    decided = {(kind, name, version): after for kind, name, version, after in rows}
    deliveries = filter(wanted, decoded(records.log.read({}, ends), records.topics))
    replay(applier, amended(deliveries, decided), ends)
    if applier.failure is not None:
        raise VerdictError(
            f"{projection.name} cannot be folded from the log: {applier.failure}; see "
            f"`verdict projection verify {projection.name}` and `verdict status`"
        )


@contextmanager
def scratch_folder(data_dir: Path) -> Iterator[Path]:
    """Give an empty folder below `data_dir`; those of runs that were killed are removed."""
    permissions.close(data_dir)
    for left in data_dir.glob(f"{PREFIX}*"):
        pid = left.name.removeprefix(PREFIX)
        if pid.isdigit() and (int(pid) == os.getpid() or not psutil.pid_exists(int(pid))):
            shutil.rmtree(left, ignore_errors=True)
    folder = data_dir / f"{PREFIX}{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_in(until: int | None, delivery: Delivery) -> bool:
    """Return whether an event counts; where one does not, no later one of its aggregate does."""
    event = delivery.record
    return until is None or not isinstance(event, RecordedEvent) or event.decided_at <= until
