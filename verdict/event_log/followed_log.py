"""A read side belongs to one log: to its topics, and no further than their ends."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import Connection, Engine, Table

from verdict.configuration.found import database_url
from verdict.configuration.settings import Settings
from verdict.database import ownership
from verdict.database.address import file_of, parse, shown
from verdict.database.statements import exclude_others
from verdict.errors import EnvironmentIncomplete, Unreachable
from verdict.event_log.followed_topics import refuse_other_topics
from verdict.event_log.last_archived import ARCHIVE, Archived, last_archived, others_in_place
from verdict.kafka.access import Kafka
from verdict.kafka.identity import AnotherLog, Identities, Identity
from verdict.kafka.log import KafkaLog
from verdict.kafka.offsets import Offsets, at, by_topic
from verdict.projection import followed, position
from verdict.projection.database import failing_in_words, opened, snapshot
from verdict.projection.layout import tables_schema
from verdict.wire.spans import Partition

LOST = (
    "Nothing was changed. If this is the wrong Kafka or the wrong database, start with the two "
    "that belong together (bootstrap_servers, database_url). If Kafka has lost records, as one "
    "that does not flush may in a power failure, run `verdict recover --restore-events --why …`: "
    "it appends the lost events again from the archive in this database. To bring back Kafka's "
    "directory (of the embedded Kafka: `broker` in the data directory) from a backup that goes as "
    "far is better still. Never go on with an empty database: versions and offsets of the lost "
    "events would be given a second time"
)


class Filled(NamedTuple):
    """How far a read side was filled, and from which topics."""

    reached: position.Positions
    noted: followed.Followed


NOT_FILLED = Filled({}, followed.Followed(frozenset(), {}))


def follow_this_log(engine: Engine, kafka: Kafka, topics: Collection[str]) -> None:
    """Return if the read side was filled from these topics; a new one is theirs from now on.

    One of an older version has no ids written down and adopts those of today, unless it has read
    further than Kafka goes.

    Args:
        engine: With the tables of `create_read_side`.
        kafka: Where the topics are.
        topics: All that may be followed.

    Raises:
        AnotherLog: It was filled from another cluster, or from topics that are no more, or Kafka
            has lost the end of what was read; both sides are named.
        Unreachable: The database or Kafka does not answer.
    """
    whose = f"the read side {shown(engine.url)}"
    with failing_in_words(engine), snapshot(engine) as connection:
        reached, former = position.furthest(connection), followed.load(connection)
    found, ends = _there_is(kafka, topics, reached, former)
    with failing_in_words(engine), engine.begin() as connection:
        exclude_others(connection, "followed topics")
        _refuse(whose, topics, (reached, followed.load(connection)), (found, ends))
        followed.note(connection, found.cluster_id or "", found.topic_ids)


def filled(settings: Settings) -> Filled:
    """Return what the database says that it was filled with; nothing, if there is none yet.

    Raises:
        VerdictError: The database is none that verdict knows, or of a newer version.
        Unreachable: It does not answer.
    """
    with database_if_any(settings) as engine:
        if engine is None:
            return NOT_FILLED
        with failing_in_words(engine), snapshot(engine) as connection:
            return _filled(connection)


def follow_instead(settings: Settings, found: Identity) -> None:
    """Let the read side follow these topics in the place of those that bore their names."""
    with database_if_any(settings) as engine:
        if engine is None:
            return
        with failing_in_words(engine), engine.begin() as connection:
            if _has(connection, followed.table):
                exclude_others(connection, "followed topics")
                followed.renew(connection, found.cluster_id or "", found.topic_ids)


def refuse_another_database(settings: Settings, kafka: Kafka) -> None:
    """Return if the database, should there be one, may follow the topics, be they there or not.

    One that does not answer is for those to name who need it. Nothing is written down.

    Raises:
        AnotherLog: As for `follow_this_log`, a topic that is missing counted as an empty one; or
            Kafka has another record in the place of the last one that is archived.
        VerdictError: The database is none that verdict knows, or of a newer version.
        Unreachable: Kafka does not answer.
    """
    try:
        found, last = filled(settings), _last_archived(settings)
    except (Unreachable, EnvironmentIncomplete):
        return
    refuse_another_filling(settings, kafka, found)
    if said := [*others_in_place(kafka, last)]:
        whose = f"the read side {shown(parse(database_url(settings)))}"
        raise AnotherLog(f"{whose} belongs to another log: {'; '.join(said)}. {LOST}")


def check_same_topics(settings: Settings, kafka: Kafka, filling: Filled) -> None:
    """Return if a database was filled from these topics, however far they go now.

    Raises:
        AnotherLog: It was filled from another cluster, or from topics that are no more.
        Unreachable: Kafka does not answer.
    """
    topics = settings.topics.of_the_log()
    found = Identities(kafka).identity({*topics, *filling.noted.topic_ids})
    whose = f"the read side {shown(parse(database_url(settings)))}"
    refuse_other_topics(whose, *filling.noted, topics, found)


def has_archive(engine: Engine) -> bool:
    """Tell whether a database has an archive, and positions in the log."""
    with failing_in_words(engine), snapshot(engine) as connection:
        # one table alone is somebody else's, as whoever makes ours will say
        return _has(connection, ARCHIVE) and _has(connection, position.table)


def refuse_another_filling(settings: Settings, kafka: Kafka, filling: Filled) -> None:
    """Return if what a database was filled with is of these topics; raises as above."""
    whose = f"the read side {shown(parse(database_url(settings)))}"
    topics = settings.topics.of_the_log()
    _refuse(whose, topics, filling, _there_is(kafka, topics, *filling))


def beyond(reached: Mapping[Partition, int], ends: Offsets) -> list[str]:
    """Return in words where a position lies behind the end of its partition.

    Args:
        reached: Next offset by partition.
        ends: Kafka's, by topic and partition; other topics are no matter.
    """
    said = []
    for place, offset in sorted(reached.items()):
        if place.topic in ends and offset > (end := at(ends, place)):
            said.append(
                f"{place} was read up to offset {offset}, and Kafka has it up to {end} only"
            )
    return said


@contextmanager
def database_if_any(settings: Settings) -> Iterator[Engine | None]:
    """Give the database; None where there is no such file yet."""
    url = database_url(settings)
    if (file := file_of(url)) is not None and not file.exists():
        yield None
        return
    with opened(url) as engine:
        yield engine


def _last_archived(settings: Settings) -> Archived:
    with database_if_any(settings) as engine:
        if engine is None:
            return {}
        if not has_archive(engine):
            return {}
        with failing_in_words(engine), snapshot(engine) as connection:
            return last_archived(connection, position.furthest(connection))


def _filled(connection: Connection) -> Filled:
    """Return how far it was filled, and from what; a new one, and an old one, lack the tables."""
    return Filled(
        position.furthest(connection) if _has(connection, position.table) else {},
        followed.load(connection) if _has(connection, followed.table) else NOT_FILLED.noted,
    )


def _has(connection: Connection, table: Table) -> bool:
    return ownership.exists(connection, tables_schema(connection), table.name)


def _there_is(
    kafka: Kafka,
    topics: Collection[str],
    reached: Mapping[Partition, int],
    noted: followed.Followed,
) -> tuple[Identity, Offsets]:
    """Return what Kafka has of all that is or was followed; what is missing ends at 0."""
    found = Identities(kafka).identity({*topics, *noted.topic_ids})
    read = {place.topic for place in reached} & found.topic_ids.keys()
    return found, {topic: list[int]() for topic in topics} | _ends(kafka, read)


def _refuse(
    whose: str,
    topics: Collection[str],
    filled: tuple[Mapping[Partition, int], followed.Followed],
    there_is: tuple[Identity, Offsets],
) -> None:
    (reached, noted), (found, ends) = filled, there_is
    refuse_other_topics(whose, *noted, topics, found)
    if said := beyond(reached, ends):
        raise AnotherLog(f"{whose} belongs to another log: {'; '.join(said)}. {LOST}")


def _ends(kafka: Kafka, topics: Collection[str]) -> Offsets:
    if not topics:
        return {}
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        return by_topic(log.written(log.places(topics)))
