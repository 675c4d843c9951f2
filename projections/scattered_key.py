"""`scattered_key`: aggregates with commands on several partitions, for "whose order is lost?".

Kafka keeps an order within a partition only. Commands of one aggregate lie on several when their
senders' partitioners disagree: each is still decided once, but perhaps not in the order of sending.
"""

from collections.abc import Iterable

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    select,
)

from projections.engine.projection import View
from projections.engine.statements import add_new
from schemas.response import Response


def key_partition(metadata: MetaData, version: int) -> Table:
    """Return the table: one row per aggregate and partition on which a command of it was seen.

    `another` is true for each but the aggregate's first, so that the few are found by an index.
    """
    table = Table(
        f"key_partition_v{version}",
        metadata,
        Column("aggregate_type", Text, primary_key=True),
        Column("aggregate_id", Text, primary_key=True),
        Column("partition", BigInteger, primary_key=True),
        Column("another", Boolean, nullable=False),
    )
    name = f"{table.name}_another"
    another = table.c.another.is_(True)  # as it is asked for, else SQLite passes the index over
    columns = (table.c.aggregate_type, table.c.aggregate_id)
    Index(name, *columns, sqlite_where=another, postgresql_where=another)
    return table


def note(connection: Connection, table: Table, responses: Iterable[Response]) -> None:
    """Keep on which partitions the commands behind `responses` were; one statement.

    Malformed commands are left out: their aggregate id is a claim, which their key may deny.
    """
    seen = {
        (one.aggregate_type, one.aggregate_id, one.source.partition)
        for one in responses
        if one.command_digest is not None
    }
    rows = [
        {
            "aggregate_type": kind,
            "aggregate_id": name,
            "partition": partition,
            "of_type": kind,
            "of_id": name,
            "not_on": partition,
        }
        for kind, name, partition in sorted(seen)
    ]
    known = table.alias()
    elsewhere = select(known.c.partition).where(
        known.c.aggregate_type == bindparam("of_type"),
        known.c.aggregate_id == bindparam("of_id"),
        known.c.partition != bindparam("not_on"),
    )
    add_new(connection, table, rows, computed={"another": elsewhere.exists()})


def scattered(table: Table) -> View:
    """Return what the view shows: each aggregate that is on several partitions, and how many."""
    aggregate = (table.c.aggregate_type, table.c.aggregate_id)
    partitions = (func.count() + 1).label("partitions")  # the first is not marked
    return select(*aggregate, partitions).where(table.c.another.is_(True)).group_by(*aggregate)
