"""The tables of the read side, and what brings them forward."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Engine

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import Options
from verdict.read_side.catalog import projections
from verdict.read_side.live.live_projections import LiveProjections
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.database import (
    check_built,
    create_read_side,
    failing_in_words,
    live_versions,
    open_database,
)
from verdict.read_side.tables import skips
from verdict.read_side.tables.same_log import bind_to_log
from verdict.service.runner_process import RunnerProcess
from verdict.settings.database_address import is_sqlite, parse
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import read_skips
from verdict.streaming.exactly_once.read_progress import bounds_of
from verdict.wire.skip_record import SkippedRanges
from verdict.wire.topics import Topics

SHARED_BY = 4  # processes, if the settings do not say how many


def check_tables(kafka: KafkaConfig, settings: Settings) -> None:
    """Create missing tables, and check that all fit the log and the settings."""
    database, read_models = made_read_side(kafka, settings)
    try:
        check_built(database, read_models)
    finally:
        database.dispose()


def made_read_side(kafka: KafkaConfig, settings: Settings) -> tuple[Engine, Sequence[Projection]]:
    """Return the database, and the projections at the versions that readers see.

    Tables and views that were missing are there.
    """
    database = open_database(database_url(settings))
    try:
        read_models = projections(settings.application, settings.chosen, live_versions(database))
        create_read_side(database, read_models, settings.roles)
        bind_to_log(database, kafka, settings.topics.of_the_log())
    except BaseException:
        database.dispose()
        raise
    return database, read_models


def live_projections(
    kafka: KafkaConfig, settings: Settings, chosen: Sequence[str] = ()
) -> LiveProjections:
    """Return the projections, not started: each start is at the versions that readers see."""

    def open_tables() -> tuple[Engine, Sequence[Projection]]:
        database, every = made_read_side(kafka, settings)
        sync_skips(kafka.settings, settings.topics, database)
        return database, [one for one in every if one.name in chosen or not chosen]

    return LiveProjections(
        open_tables,
        partial(bounds_of, kafka),
        settings.topics,
        partial(RunnerProcess, settings, kafka.settings),
        settings.projection_processes or processes_for(database_url(settings)),
    )


def processes_for(url: str) -> int:
    """Return how many processes bring projections forward.

    SQLite has one writer at a time. While PostgreSQL works for one process, another decodes, so
    more processes than processors pay.
    """
    return 1 if is_sqlite(parse(url)) else SHARED_BY


def sync_skips(options: Options, topics: Topics, database: Engine) -> SkippedRanges:
    """Copy the recorded decisions of operators into the read side; return all skips it has then."""
    decisions = read_skips(options, topics)
    with failing_in_words(database), database.begin() as connection:
        skips.copy(connection, decisions)
        skips.copy_quarantines(connection, decisions)
        return skips.passed_over(connection)
