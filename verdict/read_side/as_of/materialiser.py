"""What `verdict export` does, next to a service that runs or not: tables as of a position."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import Engine, make_url
from sqlalchemy.exc import DBAPIError

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local import permissions
from verdict.adapters.sql.readers.reader import Reader, open_reader
from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.errors import UnreachableError, VerdictError
from verdict.model.message import Fields
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.apply.overrides import amended
from verdict.read_side.as_of.destination import (
    Destination,
    Export,
    FileDestination,
    KafkaTopic,
    StdoutDestination,
)
from verdict.read_side.as_of.resolving import AsOf, PositionResolver, ResolvedPosition
from verdict.read_side.catalog import FIRST, declared_projections, live_settings, projection_by_name
from verdict.read_side.projections.projection import Projection
from verdict.read_side.rebuild.log_replay import decoded, replay
from verdict.read_side.schema import creation
from verdict.read_side.schema.database import opened
from verdict.read_side.tables import blocked
from verdict.read_side.tables.blocked import AggregateKey, BlockedAggregate, Held
from verdict.read_side.tables.same_topics import require_same_read_side
from verdict.settings.database_address import url_of
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings
from verdict.streaming.event_log.event_log import EventLog, open_event_log
from verdict.streaming.event_log.skip_log import reader_skipping
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

TOPIC = "topic:"
PREFIX = "export-"
SHOWN = 20
IN_FORCE = """\
SELECT aggregate_type, aggregate_id, event_version, after FROM projection_intervention
WHERE projection = :projection AND kind IN ('edit', 'evict') ORDER BY seq"""
QUARANTINED = (
    "SELECT topic, aggregate_type, aggregate_id, version, error FROM aggregate_quarantined"
)


class Materialiser:
    """Folds a projection's records again, up to a position.

    The live tables are not touched, and it does not matter how far they have come.
    """

    def __init__(self, settings: Settings, name: str, accept_blocked: bool = False) -> None:
        self._settings = settings
        self._accept_blocked = accept_blocked
        self._projection = _changing(live_settings(settings, name), name)
        self._kafka = kafka_of(settings)

    def run(self, as_of: AsOf, to: str) -> tuple[Fields, bool]:
        """Write the rows as of some position, each once, and then the completion record.

        Returns:
            What the completion record says, and whether the rows were not there already.
        """
        with self._log() as log:
            destination = self._destination(to, log)
            destination.check()
            with self._exported(log, as_of) as export:
                return export.completion, destination.write(export)

    @contextmanager
    def content(self, as_of: AsOf) -> Iterator[Export]:
        """Give the rows as of some position; they do not change."""
        with self._log() as log, self._exported(log, as_of) as export:
            yield export

    @contextmanager
    def _exported(self, log: KafkaLog, as_of: AsOf) -> Iterator[Export]:
        settings, projection = self._settings, self._projection
        with ExitStack() as parts, scratch_folder(settings.data_dir) as folder:
            events = open_event_log(settings, parts, log)
            resolver = PositionResolver(projection, settings.topics, log, events, self._kafka)
            resolved = resolver.resolve(as_of)
            url = url_of(folder / "as-of.db")
            with _engine(url) as engine:
                records = AsOfRecords(events, settings.topics, partial(open_reader, settings))
                held = fill(engine, projection, records, resolved)
            if held and not self._accept_blocked:
                raise _incomplete(projection, held)
            with Reader(url, [*projection.views]) as reader:
                key = declared_projections(settings.application)[projection.name].key
                addresses = tuple(blocked.address_of(projection.name, one) for one in held)
                yield Export(reader, projection.name, key, resolved, addresses)

    def _log(self) -> AbstractContextManager[KafkaLog]:
        with suppress(UnreachableError):  # without a read side Kafka may have all of it
            require_same_read_side(self._settings, self._kafka)
        return reader_skipping(self._kafka.settings, self._settings.topics)

    def _destination(self, to: str, log: KafkaLog) -> Destination:
        if to.startswith(TOPIC):
            return KafkaTopic(to.removeprefix(TOPIC), self._kafka, log, self._settings.topics)
        if to == "-":
            return StdoutDestination()
        return FileDestination(Path(to), _of_the_service(self._settings))


@contextmanager
def as_of(settings: Settings, projection: str, millis: int) -> Iterator[Iterator[dict[str, Any]]]:
    """Give the rows that a projection had at a time, in the order of their keys, by column.

    Args:
        settings: Those of the deployment, which runs or not.
        projection: Its name.
        millis: Epoch milliseconds; events that were decided at this time are included.

    Raises:
        VerdictError: The rows cannot be determined, for example because commands of that time are
            not decided yet.
        UnreachableError: Kafka does not answer.
    """
    with Materialiser(settings, projection).content(AsOf(millis=millis)) as content:
        yield content.values()


def _of_the_service(settings: Settings) -> Iterator[Path]:
    yield settings.data_dir
    yield settings.lake_folder
    database = make_url(database_url(settings))
    if database.get_backend_name() == "sqlite" and database.database:
        for suffix in ("", "-wal", "-shm"):
            yield Path(f"{database.database}{suffix}")


@contextmanager
def _engine(url: str) -> Iterator[Engine]:
    with opened(url) as engine:
        try:
            yield engine
        except DBAPIError as error:
            raise VerdictError(
                f"the tables could not be built in {engine.url.database} "
                f"({one_line_error(error.orig)}): make room there, then try again"
            ) from error


def _changing(settings: Settings, name: str) -> Projection:
    projection = projection_by_name(settings, name)(FIRST)
    if not projection.tables:
        key = declared_projections(settings.application)[name].key[0]
        raise VerdictError(
            f"{name} holds what came in the order in which it came, and never changes: ask "
            f'`verdict sql "select * from {name} where {key} <= …"`'
        )
    return projection


@dataclass(frozen=True, slots=True)
class AsOfRecords:
    """All records of topics, from the archive where Kafka has dropped them.

    Without a read side no decision of operators is known: a blocked aggregate refuses the export.
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
) -> Held:
    """Make the tables, and apply what is before the position; return what is blocked then."""
    fold(engine, projection, records, resolved.ends, partial(_is_in, resolved.as_of.millis))
    with engine.connect() as connection:
        held = {**records.quarantined(projection), **blocked.load(connection, projection)}
    return {key: held[key] for key in sorted(held)}


def _incomplete(projection: Projection, held: Held) -> VerdictError:
    """Return the error about blocked aggregates, whose rows would be too old."""
    name, ((kind, one), hold) = projection.name, next(iter(held.items()))
    fix = "edit or skip it, or fix the projection"
    if not projection.waits_for_events:
        fix = "have it written again"
    lacks = f"version {hold.version_needed} of {kind} {one!r} is missing"
    shown = ", ".join(blocked.address_of(name, key) for key in [*held][:SHOWN])
    more = f" and {len(held) - SHOWN} more" if len(held) > SHOWN else ""
    return VerdictError(
        f"{name} cannot be exported: {len(held)} aggregates are blocked: {shown}{more}; the "
        f"first: {hold.error or lacks}; see `verdict blocked list`: {fix}; or `verdict "
        "export --accept-blocked` writes what they were before"
    )


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
    """Give an empty folder below `data_dir`; folders of killed runs are removed."""
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
