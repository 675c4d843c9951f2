"""Which topics each read model follows: all of them that it has not begun to read is ahead."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Column, Connection, MetaData, Table, Text, delete, insert

metadata = MetaData()
table = Table(
    "projection_topic_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("topic", Text, primary_key=True),
)


def note_topics(connection: Connection, follows: Mapping[str, Sequence[str]]) -> None:
    """Write down the topics of projections in the place of those that they followed before."""
    rows = [{"projection": name, "topic": one} for name, of in follows.items() for one in {*of}]
    connection.execute(delete(table).where(table.c.projection.in_([*follows])))
    if rows:
        connection.execute(insert(table), rows)
