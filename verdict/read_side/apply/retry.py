"""A held aggregate tried again on its own, beside whoever brings its projection forward."""

from collections.abc import Sequence

from sqlalchemy import Connection

from verdict.read_side.apply.batch import Delivery
from verdict.read_side.apply.bisect import apply_one_by_one
from verdict.read_side.apply.overrides import amended
from verdict.read_side.apply.unreadable import sound, with_damaged
from verdict.read_side.projections.builder import readable
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables import blocked, interventions, position, versions
from verdict.read_side.tables.blocked import AggregateKey, BlockedAggregate


def take_charge(connection: Connection, projection: Projection) -> None:
    """Keep everybody else from bringing the projection forward, up to the end of the transaction.

    Its position does not move, so whoever does that goes on behind it as if nothing had happened.

    Raises:
        SupersededError: Readers see another version.
    """
    position.exclude_others(connection, projection)
    versions.check_live(connection, projection)


def try_again(
    connection: Connection,
    projection: Projection,
    key: AggregateKey,
    events: Sequence[Delivery],
    now: int,
) -> BlockedAggregate | None:
    """Apply events that a held aggregate waits for, with the payloads that are in force.

    Raises:
        CannotApplyError: An event cannot be read.
    """
    held = {key: blocked.load(connection, projection)[key]}
    in_force = interventions.in_force(connection, projection.name)
    events = [*amended(events, in_force)]
    applied = apply_one_by_one(projection)(connection, [*readable(sound(events))])
    applied = with_damaged(applied, held, events)
    return blocked.record(connection, projection, applied, now, held).get(key)
