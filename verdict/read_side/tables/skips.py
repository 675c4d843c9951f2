"""A copy of the skips topic: decisions about records and topics, and active quarantines."""

from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import BigInteger, Connection, Select, Table, Text, delete, exists, func, select

from verdict.adapters.sql.bulk import Values
from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.statements import add_new
from verdict.model.nul import spell_out
from verdict.model.source import Source
from verdict.read_side.tables import blocked, source_topics, versions
from verdict.read_side.tables.columns import metadata, primary, required
from verdict.read_side.tables.row_states import VersionState
from verdict.wire.skip_record import Kind, SkippedRanges, SkipRecord, active_quarantines

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


quarantined = Table(
    "aggregate_quarantined_v1",
    metadata,
    primary("aggregate_type", Text, "Type of the aggregate."),
    primary("aggregate_id", Text, "Id of the aggregate."),
    required("version", BigInteger, "The first version that is damaged."),
    required("last_version", BigInteger),
    required("error", Text, "What is damaged."),
    required("topic", Text, "Topic of the record at which that shows."),
    required("partition", BigInteger, "Partition of the topic."),
    required("offset", BigInteger, "Offset of the record."),
    required("operator", Text, "Who decided to go on without the aggregate."),
    required("reason", Text, "The reason that they gave."),
    required("decided_at", InstantType, "When it was decided."),
)


def copy_quarantines(connection: Connection, decisions: Iterable[SkipRecord]) -> None:
    """Replace the copied quarantines by the active ones."""
    rows = []
    for one in active_quarantines(decisions).values():
        of = one.aggregate
        assert of is not None, "a quarantine names its aggregate"
        error = spell_out(of.error)  # PostgreSQL stores no NUL
        made = {"operator": one.operator, "reason": one.reason, "decided_at": one.decided_at}
        rows.append({**asdict(of), "error": error, **asdict(one.source), **made})
    connection.execute(delete(quarantined))
    add_new(connection, quarantined, rows)


def blocked_by_quarantine() -> Select[*tuple[object, ...]]:
    """Return quarantined aggregates as rows of `projection_blocked`, for each live projection.

    The archive keeps every event, so it blocks none.
    """
    of, live, other = quarantined.c, versions.table.c, blocked.table.c
    follows = source_topics.followed.c
    # of an aggregate without any event, a response shows the damage
    events = func.replace(of.topic, ".responses", ".events")
    is_held = exists().where(
        other.projection == live.projection,
        other.projection_version == live.version,
        other.aggregate_type == of.aggregate_type,
        other.aggregate_id == of.aggregate_id,
    )
    return (
        select(
            live.projection,
            live.version.label("projection_version"),
            of.aggregate_type,
            of.aggregate_id,
            of.version.label("version_needed"),
            of.last_version.label("version_seen"),
            of.decided_at.label("found_at"),
            ("its history is damaged, so it is quarantined: " + of.error).label("error"),
        )
        .join_from(quarantined, source_topics.followed, follows.topic == events)
        .join(versions.table, live.projection == follows.projection)
        .where(live.state == VersionState.LIVE, live.projection != "event_archive", ~is_held)
    )
