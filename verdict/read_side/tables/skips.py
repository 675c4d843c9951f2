"""Decisions about records and topics in SQL: a copy of the skips topic."""

from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, select

from verdict.adapters.sql.bulk import Values
from verdict.adapters.sql.instant import InstantType
from verdict.adapters.sql.statements import add_new
from verdict.model.source import Source
from verdict.wire.skip_record import Kind, SkippedRanges, SkipRecord

metadata = MetaData()
table = Table(
    "skipped_record_v1",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("partition", BigInteger, primary_key=True),
    Column("offset", BigInteger, primary_key=True),
    Column("until_offset", BigInteger, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("operator", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("decided_at", InstantType, nullable=False),
)


def copy(connection: Connection, decisions: Iterable[SkipRecord]) -> None:
    """Write decisions down that are about records or topics; what is there stays as it is."""
    rows: dict[tuple[Source, int, Kind], Values] = {}
    for one in decisions:
        if one.aggregate is not None:
            continue
        row = asdict(one.source) | asdict(one)
        del row["source"], row["aggregate"]
        rows.setdefault((one.source, one.until_offset, one.kind), row)
    add_new(connection, table, [*rows.values()])


def passed_over(connection: Connection) -> SkippedRanges:
    """Return the places that are passed over, as far as they are copied."""
    columns = table.c
    asked = select(columns.topic, columns.partition, columns.offset, columns.until_offset)
    found = connection.execute(asked.where(columns.kind == Kind.SKIPPED))
    return SkippedRanges.of(tuple(row) for row in found)


def load(connection: Connection) -> list[SkipRecord]:
    """Return what was decided, as far as it is copied, in the order of time."""
    rows = connection.execute(select(table).order_by(table.c.decided_at)).all()
    return [
        SkipRecord(
            source=Source(row.topic, row.partition, row.offset),
            until_offset=row.until_offset,
            operator=row.operator,
            reason=row.reason,
            decided_at=row.decided_at,
            kind=Kind(row.kind),
        )
        for row in rows
    ]
