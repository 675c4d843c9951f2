"""A read side belongs to one log: to its topics, and no further than their ends."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, Engine, MetaData, Table, select

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import (
    Identities,
    Identity,
    require_same_ids,
    require_same_log,
)
from verdict.adapters.sql import ownership
from verdict.adapters.sql.statements import exclude_others
from verdict.errors import EnvironmentIncompleteError, UnreachableError
from verdict.read_side.projections.builtin.event_archive import archive_table
from verdict.read_side.schema.database import failing_in_words, opened, snapshot
from verdict.read_side.schema.layout import tables_schema
from verdict.read_side.tables import position, source_topics
from verdict.read_side.tables.same_topics import Archived, remembered
from verdict.settings.database_address import file_of, masked_url, parse
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings

ARCHIVE = archive_table(MetaData())


class FilledFrom(NamedTuple):
    """How far a read side was filled, and from which topics."""

    reached: position.Positions
    noted: source_topics.SourceTopics


NOT_FILLED = FilledFrom({}, source_topics.SourceTopics(frozenset(), {}))


def bind_to_log(engine: Engine, kafka: KafkaConfig, topics: Collection[str]) -> None:
    """Return if the read side was filled from these topics; a new one is theirs from now on.

    Raises:
        DifferentLogError: It was filled from another cluster, or from topics that are no more, or
            Kafka has lost the end of what was read; both sides are named.
        UnreachableError: The database or Kafka does not answer.
    """
    whose = f"the read side {masked_url(engine.url)}"
    with failing_in_words(engine), snapshot(engine) as connection:
        reached, noted = position.furthest(connection), source_topics.load(connection)
    found = require_same_log(kafka, [remembered(whose, noted, topics, reached)], topics)
    with failing_in_words(engine), engine.begin() as connection:
        exclude_others(connection, "followed topics")
        noted = source_topics.load(connection)  # another process may have been faster
        require_same_ids([remembered(whose, noted, topics)], found)
        source_topics.note(connection, found.cluster_id or "", found.topic_ids)


def filled_from(settings: Settings) -> FilledFrom:
    """Return what the database says that it was filled with; nothing, if there is none yet.

    Raises:
        VerdictError: The database is none that verdict knows, or of a newer version.
        UnreachableError: It does not answer.
    """
    with database_if_any(settings) as engine:
        if engine is None:
            return NOT_FILLED
        with failing_in_words(engine), snapshot(engine) as connection:
            return _filled(connection)


def rebind_to_log(settings: Settings, found: Identity) -> None:
    """Let the read side follow these topics in the place of those that bore their names."""
    with database_if_any(settings) as engine:
        if engine is None:
            return
        with failing_in_words(engine), engine.begin() as connection:
            if _has(connection, source_topics.table):
                exclude_others(connection, "followed topics")
                source_topics.renew(connection, found.cluster_id or "", found.topic_ids)


def require_same_database(settings: Settings, kafka: KafkaConfig) -> None:
    """Return if the database, if there is one, may follow the topics, whether they exist or not.

    One that does not answer is reported by those who need it. Nothing is written down.

    Raises:
        DifferentLogError: As for `bind_to_log`, a topic that is missing counted as an empty one; or
            Kafka has another record in the place of the last one that is archived.
        VerdictError: The database is none that verdict knows, or of a newer version.
        UnreachableError: Kafka does not answer.
    """
    try:
        found, archived = filled_from(settings), _last_archived(settings)
    except (UnreachableError, EnvironmentIncompleteError):
        return
    require_same_filling(settings, kafka, found, archived)


def require_same_filling(
    settings: Settings,
    kafka: KafkaConfig,
    filling: FilledFrom,
    archived: Archived | None = None,
) -> None:
    """Return if what a database was filled with is of these topics; raises as above."""
    whose = f"the read side {masked_url(parse(database_url(settings)))}"
    topics = settings.topics.of_the_log()
    reached, noted = filling
    require_same_log(kafka, [remembered(whose, noted, topics, reached, archived or {})])


def check_same_topics(settings: Settings, kafka: KafkaConfig, filling: FilledFrom) -> None:
    """Return if a database was filled from these topics, however far they go now.

    Raises:
        DifferentLogError: It was filled from another cluster, or from topics that are no more.
        UnreachableError: Kafka does not answer.
    """
    whose = f"the read side {masked_url(parse(database_url(settings)))}"
    known = remembered(whose, filling.noted, settings.topics.of_the_log())
    require_same_ids([known], Identities(kafka).identity(known.ids.topic_ids))


@contextmanager
def database_if_any(settings: Settings) -> Iterator[Engine | None]:
    """Give the database; None where there is no such file yet."""
    url = database_url(settings)
    if (file := file_of(url)) is not None and not file.exists():
        yield None
        return
    with opened(url) as engine:
        yield engine


def has_archive(engine: Engine) -> bool:
    """Tell whether a database has an archive, and positions in the log."""
    with failing_in_words(engine), snapshot(engine) as connection:
        # one table alone is another application's, as whoever creates ours will say
        return _has(connection, ARCHIVE) and _has(connection, position.table)


def _last_archived(settings: Settings) -> Archived:
    with database_if_any(settings) as engine:
        if engine is None or not has_archive(engine):
            return {}
        if not has_archive(engine):
            return {}
        with failing_in_words(engine), snapshot(engine) as connection:
            return _last_in(connection)


def _last_in(connection: Connection) -> Archived:
    """Return the offset and the hash of the last event that is archived, by partition.

    A row that was altered, so that its hash is not that of its value, is left to the audit.
    """
    columns = ARCHIVE.c
    found = {}
    for place in position.furthest(connection):
        here = (columns.topic == place.topic) & (columns.partition == place.partition)
        last = select(columns.offset, columns.value, columns.hash).where(here)
        row = connection.execute(last.order_by(columns.offset.desc()).limit(1)).first()
        if row is not None and sha256(row.value).hexdigest() == row.hash:
            found[place] = row.offset, row.hash
    return found


def _filled(connection: Connection) -> FilledFrom:
    """Return how far it was filled, and from what; a new one lacks the tables."""
    return FilledFrom(
        position.furthest(connection) if _has(connection, position.table) else {},
        source_topics.load(connection)
        if _has(connection, source_topics.table)
        else NOT_FILLED.noted,
    )


def _has(connection: Connection, table: Table) -> bool:
    return ownership.exists(connection, tables_schema(connection), table.name)
