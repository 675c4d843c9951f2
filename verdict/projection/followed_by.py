"""Which topics each read model follows: all of them that it has not begun to read is ahead."""

from collections.abc import Collection

from sqlalchemy import Column, Connection, MetaData, Table, Text, delete, insert

metadata = MetaData()
table = Table(
    "projection_topic_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("topic", Text, primary_key=True),
)


def note(connection: Connection, projection: str, topics: Collection[str]) -> None:
    """Write down the topics of a projection in the place of those that it followed before.

    Args:
        connection: In a transaction.
        projection: Its name; all its versions follow the same.
        topics: Those names.
    """
    connection.execute(delete(table).where(table.c.projection == projection))
    connection.execute(
        insert(table), [{"projection": projection, "topic": topic} for topic in sorted({*topics})]
    )
