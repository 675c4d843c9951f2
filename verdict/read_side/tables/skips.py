"""Decisions about records and topics in SQL: a copy of the skips topic."""

from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import BigInteger, Connection, Table, Text, select

from verdict.adapters.sql.bulk import Values
from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.statements import add_new
from verdict.model.source import Source
from verdict.read_side.tables.columns import metadata, primary, required
from verdict.wire.skip_record import Kind, SkippedRanges, SkipRecord

table = Table(
    "skipped_record_v1",
    metadata,
    primary("topic", Text, "Topic in Kafka."),
    primary("partition", BigInteger, "Partition of the topic."),
    primary("offset", BigInteger, "Offset of the first record that it is about."),
    primary("until_offset", BigInteger, "Offset after the last one."),
    primary("kind", Text, "`SKIPPED` is about records, `RESTORED` and `ACCEPTED` about a topic."),
    required("operator", Text, "Who decided it."),
    required("reason", Text, "The reason that they gave."),
    required("decided_at", InstantType, "When it was decided."),
)


def copy(connection: Connection, decisions: Iterable[SkipRecord]) -> None:
    """Copy the decisions that are about records or topics; copied ones stay as they are."""
    rows: dict[tuple[Source, int, Kind], Values] = {}
    for one in decisions:
        if one.aggregate is not None:
            continue
        row = asdict(one.source) | asdict(one)
        del row["source"], row["aggregate"]
        rows.setdefault((one.source, one.until_offset, one.kind), row)
    add_new(connection, table, [*rows.values()])


def passed_over(connection: Connection) -> SkippedRanges:
    of = table.c
    ranges = select(of.topic, of.partition, of.offset, of.until_offset)
    found = connection.execute(ranges.where(of.kind == Kind.SKIPPED))
    return SkippedRanges.of(tuple(row) for row in found)
