"""Topics that fill the read side: Kafka's ids of them, and which projection follows which."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Table, Text, delete, insert, select

from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.statements import add_new
from verdict.read_side.tables.columns import metadata, primary, required

table = Table(
    "source_topic_v1",
    metadata,
    primary("topic", Text, "Name of the topic."),
    required("topic_id", Text, "Kafka's id of it; a topic that is created again has another one."),
    required("cluster_id", Text, "Kafka's id of its cluster."),
)
followed = Table(
    "projection_topic_v1",
    metadata,
    primary("projection", Text, "Name of the projection."),
    primary("topic", Text, "Topic in Kafka."),
)


class SourceTopics(NamedTuple):
    """The ids that are recorded: those of clusters, one at most, and of topics by name."""

    clusters: frozenset[str]
    topic_ids: Mapping[str, str]


def load(connection: Connection) -> SourceTopics:
    """Return the recorded ids; a new read side has none."""
    rows = connection.execute(select(table)).all()
    return SourceTopics(frozenset(r.cluster_id for r in rows), {r.topic: r.topic_id for r in rows})


def note(connection: Connection, cluster_id: str, topic_ids: Mapping[str, str]) -> None:
    """Record the topics that are not recorded yet; the others stay as they are."""
    rows = [(*of, cluster_id) for of in sorted(topic_ids.items())]
    add_new(connection, table, BulkRows(("topic", "topic_id", "cluster_id"), rows))


def renew(connection: Connection, cluster_id: str, topic_ids: Mapping[str, str]) -> None:
    """Replace the ids of recorded topics that were created again; the positions stay."""
    known = load(connection).topic_ids.keys() & topic_ids.keys()
    connection.execute(delete(table).where(table.c.topic.in_(known)))
    note(connection, cluster_id, {topic: topic_ids[topic] for topic in known})


def note_followed(connection: Connection, follows: Mapping[str, Sequence[str]]) -> None:
    """Record which topics these projections follow, in place of those recorded earlier."""
    rows = [{"projection": name, "topic": one} for name, of in follows.items() for one in {*of}]
    connection.execute(delete(followed).where(followed.c.projection.in_([*follows])))
    if rows:
        connection.execute(insert(followed), rows)
