"""A read side belongs to one log: to its topics, and no further than their ends."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, Engine, MetaData, select

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import (
    Identities,
    Identity,
    require_same_ids,
    require_same_log,
)
from verdict.adapters.sql.statements import exclude_others
from verdict.errors import EnvironmentIncompleteError, UnreachableError
from verdict.read_side.projections.builtin.event_archive import archive_table
from verdict.read_side.schema.database import failing_in_words, opened, snapshot
from verdict.read_side.schema.layout import has_table
from verdict.read_side.tables import position, source_topics
from verdict.read_side.tables.same_topics import Archived, remembered
from verdict.settings.database_address import file_of, masked_url, parse
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings
from verdict.wire.partitions import PartitionOffsets, TopicPartition

ARCHIVE = archive_table(MetaData())


class FilledFrom(NamedTuple):
    """How far a read side was filled, from which topics, and what was archived last of each."""

    reached: PartitionOffsets
    noted: source_topics.SourceTopics
    archived: Archived


NOT_FILLED = FilledFrom({}, source_topics.SourceTopics(frozenset(), {}), {})


def bind_to_log(engine: Engine, kafka: KafkaConfig, topics: Collection[str]) -> None:
    """Return if the read side was filled from these topics; a new one belongs to them from now on.

    Raises:
        DifferentLogError: It was filled from another cluster, or from topics that are no more, or
            Kafka has lost the end of what was read; both sides are named.
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


def rebind_to_log(settings: Settings, found: Identity) -> None:
    """Let the read side follow these topics in place of the deleted ones with their names."""
    with database_if_any(settings) as engine:
        if engine is None:
            return
        with failing_in_words(engine), engine.begin() as connection:
            if has_table(connection, source_topics.table.name):
                exclude_others(connection, "followed topics")
                source_topics.renew(connection, found.cluster_id or "", found.topic_ids)


def filled_from(settings: Settings) -> FilledFrom:
    """Return what the database records of its log; nothing, if there is no database yet."""
    with database_if_any(settings) as engine:
        if engine is None:
            return NOT_FILLED
        with failing_in_words(engine), snapshot(engine) as connection:
            if not has_table(connection, position.table.name):
                return NOT_FILLED
            reached, noted = position.furthest(connection), source_topics.load(connection)
            has_events = has_table(connection, ARCHIVE.name)
            archived = _last_archived(connection, reached) if has_events else {}
            return FilledFrom(reached, noted, archived)


def require_same_database(settings: Settings, kafka: KafkaConfig) -> None:
    """Return if the database, if there is one, may follow the topics, whether they exist or not.

    A database that does not answer is reported by its users. Nothing is recorded.

    Raises:
        DifferentLogError: As for `bind_to_log`, a missing topic counted as an empty one; or Kafka
            has another record at the offset of the last archived one.
    """
    try:
        known = filled_from(settings)
    except (UnreachableError, EnvironmentIncompleteError):
        return
    topics, whose = settings.topics.of_the_log(), _name_of(settings)
    require_same_log(kafka, [remembered(whose, known.noted, topics, known.reached, known.archived)])


def check_same_topics(settings: Settings, kafka: KafkaConfig, filling: FilledFrom) -> None:
    """Return if a database was filled from these topics, however far they go now."""
    known = remembered(_name_of(settings), filling.noted, settings.topics.of_the_log())
    require_same_ids([known], Identities(kafka).identity(known.ids.topic_ids))


@contextmanager
def database_if_any(settings: Settings) -> Iterator[Engine | None]:
    """Give the database; None if it is a file that does not exist yet."""
    url = database_url(settings)
    if (file := file_of(url)) is not None and not file.exists():
        yield None
        return
    with opened(url) as engine:
        yield engine


def has_archive(engine: Engine) -> bool:
    """Tell whether a database has an archive, and with it all our tables."""
    with failing_in_words(engine), snapshot(engine) as connection:
        return has_table(connection, ARCHIVE.name) and has_table(connection, position.table.name)


def _name_of(settings: Settings) -> str:
    return f"the read side {masked_url(parse(database_url(settings)))}"


def _last_archived(connection: Connection, reached: Collection[TopicPartition]) -> Archived:
    """Return offset and hash of the last archived event of each partition.

    A row whose hash is not that of its value was altered; that is left to the audit.
    """
    of, found = ARCHIVE.c, {}
    for place in reached:
        here = (of.topic == place.topic) & (of.partition == place.partition)
        last = select(of.offset, of.value, of.hash).where(here).order_by(of.offset.desc()).limit(1)
        row = connection.execute(last).first()
        if row is not None and sha256(row.value).hexdigest() == row.hash:
            found[place] = row.offset, row.hash
    return found
