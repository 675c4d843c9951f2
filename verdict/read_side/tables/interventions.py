"""What people decided about events of held aggregates, for ever: replayed, edited, passed over.

A decision counts for one projection, in all its versions, so one that is built again holds the
same as the live one. The event itself is never changed.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, insert, select

from verdict.adapters.sql import sequence
from verdict.adapters.sql.instant import InstantType
from verdict.read_side.projections.projection import Projection

metadata = MetaData()
table = Table(
    "projection_intervention_v1",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("projection", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("aggregate_type", Text, nullable=False),
    Column("aggregate_id", Text, nullable=False),
    Column("event_version", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("operator", Text, nullable=False),
    Column("reason", Text),
    Column("at", InstantType, nullable=False),
    Column("before", Text),
    Column("after", Text),
)
SEQUENCE = table.name

Kind = Literal["replay", "edit", "evict", "accept"]
AMENDING: tuple[Kind, ...] = ("edit", "evict")  # the others change nothing
EventKey = tuple[str, str, int]

Amendments = Mapping[EventKey, str | None]
"""By event, the payload (JSON) that a projection uses in its place; None passes it over."""


class Intervention(NamedTuple):
    """What somebody did about an event, or about one that never came.

    `before` and `after` are payloads as JSON: what the projection was to use for the event, and
    what it uses from then on. Without `after` it passes the event over. Who accepts that its
    aggregate waits, and takes the read model as it is, changes neither.
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
    """Write down what was done; nothing ever removes it."""
    (seq,) = sequence.take_numbers(connection, SEQUENCE, 1)
    aggregate_type, aggregate_id, version = event
    identity = {
        "seq": seq,
        "projection": projection.name,
        "version": projection.version,
        "aggregate_type": aggregate_type,
        "aggregate_id": aggregate_id,
        "event_version": version,
    }
    connection.execute(insert(table).values(identity | made._asdict()))


def in_force(connection: Connection, name: str) -> Amendments:
    """Return what the projection `name` uses in the place of events: the last word on each."""
    columns = table.c
    statement = (
        select(columns.aggregate_type, columns.aggregate_id, columns.event_version, columns.after)
        .where(columns.projection == name, columns.kind.in_(AMENDING))
        .order_by(columns.seq)
    )
    return {
        (kind, one, version): after for kind, one, version, after in connection.execute(statement)
    }
