"""A migration: what four tables said of the versions of projections comes into one.

It leaves nothing behind that a service of before could write, where nobody would read it.
"""

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, select, text

from verdict.adapters.sql import ownership
from verdict.adapters.sql.instant import InstantType
from verdict.read_side.schema import layout
from verdict.read_side.tables.versions import views

FORMER = (
    "projection_live_v1", "projection_built_v1", "projection_torso_v1", "projection_parked_v1",
)  # fmt: skip
FILL = text("""\
INSERT INTO projection_version_v1
SELECT b.projection, b.version, CASE WHEN b.version = l.version THEN 'live'
  WHEN t.version IS NOT NULL THEN 'building' WHEN b.version = l.previous THEN 'kept'
  ELSE 'built' END, b.settings, t.build,
  p.error, p.topic, p."partition", p."offset", p.parked_at
FROM projection_built_v1 b LEFT JOIN projection_live_v1 l ON l.projection = b.projection
LEFT JOIN projection_torso_v1 t ON t.projection = b.projection AND t.version = b.version
LEFT JOIN projection_parked_v1 p ON p.projection = b.projection AND p.version = b.version""")

metadata = MetaData()
table = Table(
    "projection_version_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("role", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("build", Text),
    Column("error", Text),
    Column("topic", Text),
    Column("partition", BigInteger),
    Column("offset", BigInteger),
    Column("stopped_at", InstantType),
)


def bring_together(connection: Connection) -> None:
    """Fill the one table from the four, let views of them show it, and drop the four."""
    if not ownership.own_tables(connection, layout.tables_schema(connection), FORMER):
        return
    layout.create_tables(connection, metadata)
    connection.execute(FILL)
    # they may be read, and others built on them, before a service comes to make today's
    one = table.c
    former = select(
        one.projection, one.version, one.error, one.topic, one.partition, one.offset,
        one.stopped_at.label("parked_at"),
    ).where(one.error.is_not(None))  # fmt: skip
    layout.put_views(connection, {**views(table), "projection_parked": former})
    layout.drop_tables(connection, [Table(name, MetaData()) for name in FORMER])
