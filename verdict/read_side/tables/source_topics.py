"""Which topics, by Kafka's own ids, the read side was filled from: in others no position counts."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Column, Connection, MetaData, Table, Text, delete, select

from verdict.adapters.sql.statements import add_new

metadata = MetaData()
table = Table(
    "source_topic_v1",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("topic_id", Text, nullable=False),
    Column("cluster_id", Text, nullable=False),
)


class SourceTopics(NamedTuple):
    """The ids that were written down: those of clusters, one at most, and of topics by name."""

    clusters: frozenset[str]
    topic_ids: Mapping[str, str]


def load(connection: Connection) -> SourceTopics:
    """Return what was written down, nothing in a new read side."""
    rows = connection.execute(select(table)).all()
    return SourceTopics(frozenset(r.cluster_id for r in rows), {r.topic: r.topic_id for r in rows})


def note(connection: Connection, cluster_id: str, topic_ids: Mapping[str, str]) -> None:
    """Write down the topics of which nothing is; those that are stay as they are."""
    rows = [
        {"topic": topic, "topic_id": topic_id, "cluster_id": cluster_id}
        for topic, topic_id in sorted(topic_ids.items())
    ]
    add_new(connection, table, rows)


def renew(connection: Connection, cluster_id: str, topic_ids: Mapping[str, str]) -> None:
    """Write down topics in the place of those that bore their names; the positions stay."""
    known = load(connection).topic_ids.keys() & topic_ids.keys()
    connection.execute(delete(table).where(table.c.topic.in_(known)))
    note(connection, cluster_id, {topic: topic_ids[topic] for topic in known})
