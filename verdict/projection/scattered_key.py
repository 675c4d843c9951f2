"""`scattered_key`: aggregates with commands on several partitions, for "whose order is lost?".

Kafka keeps an order within a partition only. Commands of one aggregate lie on several when their
senders' partitioners disagree: each is still decided once, but perhaps not in the order of sending.
"""

from collections import Counter
from collections.abc import Iterable, Set

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Index,
    MetaData,
    Table,
    Text,
    event,
    func,
    insert,
    select,
    update,
)

from verdict.database.rows import Rows
from verdict.database.statements import append, is_any_of
from verdict.projection.described import View, described

Aggregate = tuple[str, str]  # type and id
Place = tuple[str, str, int]  # aggregate type and id, partition


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
    event.listen(table, "before_create", _index_others, propagate=True)
    return table


def _index_others(table: Table, connection: Connection, **_: object) -> None:
    """Let a table be made with its index; one that is declared with `where` loads all dialects.

    That takes a tenth of the time of a verb that only reads, and needs neither.
    """
    another = table.c.another.is_(True)  # as it is asked for, else SQLite passes the index over
    columns = (table.c.aggregate_type, table.c.aggregate_id)
    Index(f"{table.name}_another", *columns, sqlite_where=another, postgresql_where=another)


def note(connection: Connection, table: Table, seen: Set[Place]) -> None:
    """Keep on which partitions commands of aggregates were seen; at most three statements."""
    there = _there(connection, table, {place[:2] for place in seen})
    new = sorted(seen - there)
    append(connection, table, Rows(table.c.keys(), [(*place, False) for place in new]))
    several = _several(there | seen) & {place[:2] for place in new}
    if several:
        _mark_others(connection, table, several)


def _there(connection: Connection, table: Table, aggregates: Set[Aggregate]) -> set[Place]:
    """Return where commands of these aggregates were so far."""
    of = table.c
    known = select(of.aggregate_type, of.aggregate_id, of.partition).where(
        *_among(connection, table, aggregates),
    )
    return {(kind, name, number) for kind, name, number in connection.execute(known).all()}


def _several(places: Iterable[Place]) -> set[tuple[str, str]]:
    """Return the aggregates that are on several partitions."""
    counted = Counter(place[:2] for place in places)
    return {aggregate for aggregate, count in counted.items() if count > 1}


def _mark_others(connection: Connection, table: Table, several: Set[Aggregate]) -> None:
    """Mark all but the least partition of each of these aggregates, whichever came first."""
    known = table.alias()
    lesser = select(known.c.partition).where(
        known.c.aggregate_type == table.c.aggregate_type,
        known.c.aggregate_id == table.c.aggregate_id,
        known.c.partition < table.c.partition,
    )
    touched = _among(connection, table, several)
    unmarked = table.c.another.is_(False)
    connection.execute(
        update(table).where(*touched, unmarked, lesser.exists()).values(another=True)
    )


def _among(
    connection: Connection, table: Table, aggregates: Set[Aggregate]
) -> tuple[ColumnElement[bool], ...]:
    """Return what holds for rows of these aggregates; without the types no index would be used."""
    kinds = {kind for kind, _ in aggregates}
    ids = {name for _, name in aggregates}
    of = table.c
    return of.aggregate_type.in_(kinds), is_any_of(connection, of.aggregate_id, ids)


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
