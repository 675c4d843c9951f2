"""Aggregates of which nobody can tell what they are: they count as deleted up to their version.

The decider has them so since a recovery went on without events that nobody has. A projection takes
that in at the place where their events ended then, whatever it knows of them; so a version that is
built again holds the same.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from itertools import chain
from operator import itemgetter

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, select

from verdict.database.instant import InstantType
from verdict.database.statements import add_new
from verdict.projection.batch import Delivery
from verdict.projection.holding import Held
from verdict.projection.stand_in import AsIfDeleted, stand_in
from verdict.wire.decision import Decision, lost_by
from verdict.wire.spans import Partition

metadata = MetaData()
table = Table(
    "aggregate_lost_v1",
    metadata,
    Column("aggregate_type", Text, primary_key=True),
    Column("aggregate_id", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("topic", Text, nullable=False),
    Column("partition", BigInteger, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("who", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("decided_at", InstantType, nullable=False),
)
Lost = Mapping[tuple[str, str, int], Delivery]
"""By aggregate and version, what a projection takes in its place; it lies where events ended."""


def copy(connection: Connection, decisions: Iterable[Decision]) -> None:
    """Write down which aggregates are lost by these decisions; what is there stays as it is."""
    rows = {
        of: {
            **asdict(of),
            **asdict(one.source),
            "who": one.who,
            "why": one.why,
            "decided_at": one.decided_at,
        }
        for one in decisions
        if (of := one.aggregate) is not None
    }
    add_new(connection, table, [*rows.values()])


def decisions(connection: Connection) -> list[Decision]:
    """Return what was decided, as far as it is copied, in the order of time."""
    rows = connection.execute(select(table).order_by(table.c.decided_at))
    return [lost_by(*row) for row in rows]


def load(connection: Connection, topics: Collection[str]) -> Lost:
    """Return what is lost of the aggregates whose events are on `topics`."""
    rows = connection.execute(select(table).where(table.c.topic.in_(topics)))
    made = (lost_by(*row) for row in rows)
    return {key_of(one): as_if_deleted(one) for one in made}


def key_of(made: Decision) -> tuple[str, str, int]:
    """Return the key of a decision in `Lost`."""
    assert made.lost is not None
    return made.lost.aggregate_type, made.lost.aggregate_id, made.lost.version


def as_if_deleted(made: Decision) -> Delivery:
    """Return what a projection takes where the events of a lost aggregate ended."""
    place, event = made.source, stand_in(*key_of(made), AsIfDeleted(), made.decided_at)
    return Delivery(place.topic, place.partition, place.offset, event)


def in_place(deliveries: Iterable[Delivery], lost: Iterable[Delivery]) -> list[Delivery]:
    """Return the deliveries with the lost ones before what lies at their places, or behind all."""
    return sorted(chain(lost, deliveries), key=itemgetter(0, 1, 2))


class Losing:
    """Lets aggregates become as if deleted where their events ended, each one once.

    Args:
        lost: Those of the types that a projection follows.
        positions: Where it stands; what lies before was taken in there.
    """

    def __init__(self, lost: Lost, positions: Mapping[Partition, int]) -> None:
        self.lost = lost
        self._ahead = {
            key: one
            for key, one in lost.items()
            if one.offset >= positions.get(Partition.of(one), 0)
        }

    def due(self, reached: Mapping[Partition, int]) -> Lost:
        """Return those whose events ended before the offsets that are `reached`, or there."""
        return {
            key: one
            for key, one in self._ahead.items()
            if one.offset <= reached.get(Partition.of(one), 0)
        }

    def overdue(self, held: Held) -> list[Delivery]:
        """Return those that are held for what is lost: it became known when they were."""
        return [
            one
            for (kind, name, version), one in (self.lost.items() if held else ())
            if (hold := held.get((kind, name))) and hold.version_needed <= version
        ]

    def settle(self, due: Collection[tuple[str, str, int]]) -> None:
        """Note that these were taken in."""
        for key in due:
            del self._ahead[key]
