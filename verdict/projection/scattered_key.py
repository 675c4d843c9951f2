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
    func,
    insert,
    select,
    update,
)

from verdict.application import current
from verdict.database.statements import add_new, is_any_of
from verdict.projection.described import View, described
from verdict.wire.response import Response


def key_partition(metadata: MetaData, version: int) -> Table:
    """Return the table: one row per aggregate and partition on which a command of it was seen.

    `another` is true for each but the aggregate's least, so that the few are found by an index.
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
    """Keep on which partitions the commands behind `responses` were; at most two statements.

    Malformed commands are left out: their aggregate id is a claim, which their key may deny.
    """
    seen = {
        (one.aggregate_type, one.aggregate_id, one.source.partition)
        for one in responses
        if one.command_digest is not None
    }
    rows = [
        {"aggregate_type": kind, "aggregate_id": name, "partition": partition, "another": False}
        for kind, name, partition in sorted(seen)
    ]
    if add_new(connection, table, rows):
        _mark_others(connection, table, {name for _, name, _ in seen})


def _mark_others(connection: Connection, table: Table, aggregate_ids: Iterable[str]) -> None:
    """Mark all but the least partition of each of these aggregates, whichever came first."""
    known = table.alias()
    lesser = select(known.c.partition).where(
        known.c.aggregate_type == table.c.aggregate_type,
        known.c.aggregate_id == table.c.aggregate_id,
        known.c.partition < table.c.partition,
    )
    touched = is_any_of(connection, table.c.aggregate_id, aggregate_ids)
    aggregates = table.c.aggregate_type.in_(
        current().aggregate_types
    )  # so that the index can be used
    unmarked = table.c.another.is_(False)
    connection.execute(
        update(table).where(aggregates, touched, unmarked, lesser.exists()).values(another=True)
    )


def note_all(connection: Connection, table: Table, outcomes: Table) -> None:
    """Fill the empty table from all outcomes; those of malformed commands have no versions."""
    of = outcomes.c
    aggregate = (of.aggregate_type, of.aggregate_id)
    seen = select(*aggregate, of.partition).where(of.from_version.is_not(None)).distinct()
    places = seen.subquery()
    least = func.min(places.c.partition).over(
        partition_by=(places.c.aggregate_type, places.c.aggregate_id)
    )
    rows = select(*places.c, places.c.partition > least)
    connection.execute(insert(table).from_select([*table.c.keys()], rows))


def scattered(table: Table) -> View:
    """Return what the view shows: each aggregate that is on several partitions, and how many."""
    aggregate = (table.c.aggregate_type, table.c.aggregate_id)
    partitions = (func.count() + 1).label("partitions")  # the least is not marked
    found = select(*aggregate, partitions).where(table.c.another.is_(True)).group_by(*aggregate)
    return described(
        found,
        "Aggregates whose commands came on several partitions, so that their order is not told.",
        aggregate_type="Type of the aggregate.",
        aggregate_id="Id of the aggregate.",
        partitions="On how many partitions they came.",
    )
