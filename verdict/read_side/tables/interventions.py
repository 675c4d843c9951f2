"""What operators decided about events of blocked aggregates; nothing removes it.

A decision applies to all versions of one projection. The event itself is never changed.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from sqlalchemy import BigInteger, Connection, Table, Text, insert, select

from verdict.adapters.sql import sequence
from verdict.adapters.sql.column_types import InstantType
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables.columns import metadata, optional, primary, required

table = Table(
    "projection_intervention_v1",
    metadata,
    primary("seq", BigInteger, "Counts what was decided, without gaps."),
    required("projection", Text, "Name of the projection."),
    required("version", BigInteger, "Version of the projection's tables."),
    required("aggregate_type", Text, "Type of the aggregate."),
    required("aggregate_id", Text, "Id of the aggregate."),
    required("event_version", BigInteger, "Version of the event."),
    required("kind", Text, "What was decided."),
    required("operator", Text, "Who decided it."),
    optional("reason", Text, "The reason that they gave."),
    required("at", InstantType, "When it was decided."),
    optional("before", Text, "The payload before, as JSON."),
    optional("after", Text, "The payload that is used instead, as JSON; none skips the event."),
)
SEQUENCE = table.name

Kind = Literal["replay", "edit", "evict"]
AMENDING: tuple[Kind, ...] = ("edit", "evict")  # the others change nothing
EventKey = tuple[str, str, int]

Amendments = Mapping[EventKey, str | None]
"""By event, the payload (JSON) that a projection uses instead; None skips the event."""


class Intervention(NamedTuple):
    """What an operator did about an event, or about one that never came.

    The projection was to use the payload `before` (JSON), and uses `after`; without `after` it
    skips the event.
    """

    kind: Kind
    operator: str
    reason: str | None
    at: int
    before: str | None
    after: str | None


def record(
    connection: Connection, projection: Projection, event: EventKey, made: Intervention
) -> None:
    (seq,) = sequence.take_numbers(connection, SEQUENCE, 1)
    row = (seq, projection.name, projection.version, *event, *made)
    connection.execute(insert(table).values(row))  # in the order of the columns


def in_force(connection: Connection, name: str) -> Amendments:
    """Return what the projection `name` uses instead of events, by the last decision on each."""
    columns = table.c
    statement = (
        select(columns.aggregate_type, columns.aggregate_id, columns.event_version, columns.after)
        .where(columns.projection == name, columns.kind.in_(AMENDING))
        .order_by(columns.seq)
    )
    return {
        (kind, one, version): after for kind, one, version, after in connection.execute(statement)
    }
