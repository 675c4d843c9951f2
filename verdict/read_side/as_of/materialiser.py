"""What `verdict export` does, next to a service that runs or not."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import DBAPIError

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import Reader, open_reader
from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.errors import UnreachableError, VerdictError
from verdict.read_side.as_of.content import CompletionRecord, ExportContent, completion_record
from verdict.read_side.as_of.destination import (
    Destination,
    FileDestination,
    KafkaTopic,
    StdoutDestination,
)
from verdict.read_side.as_of.filling import AsOfRecords, fill, scratch_folder
from verdict.read_side.as_of.moment import AsOf, ResolvedPosition
from verdict.read_side.as_of.resolving import DecidedUpTo, PositionResolver
from verdict.read_side.catalog import FIRST, declared_projections, live_settings, projection_by_name
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.database import opened
from verdict.read_side.tables.same_topics import require_same_read_side
from verdict.settings.database_address import url_of
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings
from verdict.streaming.event_log.event_log import EventLog, open_event_log
from verdict.streaming.event_log.skip_log import reader_skipping

TOPIC = "topic:"


class Materialiser:
    """Folds a projection's records again, up to a position.

    The live tables are not touched, and it does not matter how far they have come.
    """

    def __init__(self, settings: Settings, name: str) -> None:
        self._settings = settings
        self._projection = _changing(live_settings(settings, name), name)
        self._kafka = kafka_of(settings)

    def run(self, as_of: AsOf, to: str) -> tuple[CompletionRecord, bool]:
        """Write the rows as of some position, each once, and then the completion record."""
        self._require_one_log()
        with self._log() as log:
            destination = self._destination(to, log)
            destination.check()
            with self._exported(log, as_of) as (content, resolved):
                done = completion_record(content, resolved)
                return done, destination.write(done)

    @contextmanager
    def content(self, as_of: AsOf) -> Iterator[ExportContent]:
        """Give the rows as of some position; they do not change."""
        self._require_one_log()
        with self._log() as log, self._exported(log, as_of) as (content, _):
            yield content

    def _require_one_log(self) -> None:
        with suppress(UnreachableError):  # without a read side Kafka may have all of it
            require_same_read_side(self._settings, self._kafka)

    @contextmanager
    def _exported(
        self, log: KafkaLog, as_of: AsOf
    ) -> Iterator[tuple[ExportContent, ResolvedPosition]]:
        with ExitStack() as parts, scratch_folder(self._settings.data_dir) as folder:
            events = open_event_log(self._settings, parts, log)
            resolved = self._resolver(log, events).resolve(as_of)
            url = url_of(folder / "as-of.db")
            with _engine(url) as engine:
                records = AsOfRecords(
                    events, self._settings.topics, partial(open_reader, self._settings)
                )
                fill(engine, self._projection, records, resolved)
            with Reader(url, [*self._projection.views]) as reader:
                name = self._projection.name
                key = declared_projections(self._settings.application)[name].key
                yield ExportContent(reader, name, key), resolved

    def _log(self) -> AbstractContextManager[KafkaLog]:
        return reader_skipping(self._kafka.settings, self._settings.topics)

    def _resolver(self, log: KafkaLog, events: EventLog) -> PositionResolver:
        topics = self._settings.topics
        decided = DecidedUpTo(self._kafka, topics)
        return PositionResolver(self._projection, topics, log, events, decided)

    def _destination(self, to: str, log: KafkaLog) -> Destination:
        if to.startswith(TOPIC):
            name = to.removeprefix(TOPIC)
            return KafkaTopic(name, self._kafka, log, self._settings.topics)
        return (
            StdoutDestination()
            if to == "-"
            else FileDestination(Path(to), _of_the_service(self._settings))
        )


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
                f"({one_line_error(error.orig)}): "
                "make room there, then try again"
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
