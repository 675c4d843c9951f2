"""Projections that failed, written down with the error: what stands still, and why."""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    delete,
    select,
)

from verdict.database.instant import InstantType
from verdict.database.statements import put
from verdict.projection.position import is_of
from verdict.projection.projection import Projection, StoppedAt

metadata = MetaData()
table = Table(
    "projection_parked_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("error", Text, nullable=False),
    Column("topic", Text),
    Column("partition", BigInteger),
    Column("offset", BigInteger),
    Column("parked_at", InstantType, nullable=False),
)

SHOWN_CHARS = 2000


def park(connection: Connection, projection: Projection, error: Exception, now: int) -> None:
    """Write down that `projection` stands still since `now` (epoch milliseconds), and why."""
    topic, partition, offset = error.place if isinstance(error, StoppedAt) else (None,) * 3
    row = {
        "projection": projection.name,
        "version": projection.version,
        "error": str(error).replace("\0", "\\0")[:SHOWN_CHARS],  # PostgreSQL stores no NUL
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "parked_at": now,
    }
    put(connection, table, [row])


def is_parked(connection: Connection, projection: Projection) -> bool:
    """Tell whether `projection` was parked by an earlier run, or is."""
    return connection.execute(select(table).where(is_of(projection, table))).first() is not None


def unpark(connection: Connection, projection: Projection) -> None:
    """Forget why `projection` stood still, as it goes on."""
    connection.execute(delete(table).where(is_of(projection, table)))
