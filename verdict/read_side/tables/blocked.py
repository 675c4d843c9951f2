"""Aggregates that wait, for a missing event or for one at fault to be mended; never passed over.

What came behind a gap is not kept here. Once the missing event is there, all that follows it is
fetched from where every event is kept, by a function that the engine is given. A key whose newest
state is at fault waits here, too, for a newer record, which takes the place of that one.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    MetaData,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    select,
    update,
)

from verdict.adapters.sql.instant import InstantType
from verdict.adapters.sql.statements import put
from verdict.model.application import Application
from verdict.model.nul import spell_out
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.projection import Applied, CannotApplyError, Gap, Projection

log = logging.getLogger(__name__)

metadata = MetaData()
table = Table(
    "projection_blocked_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("projection_version", BigInteger, primary_key=True),
    Column("aggregate_type", Text, primary_key=True),
    Column("aggregate_id", Text, primary_key=True),
    Column("version_needed", BigInteger, nullable=False),
    Column("version_seen", BigInteger, nullable=False),
    Column("found_at", InstantType, nullable=False),
    Column("error", Text),
)

SHOWN_CHARS = 2000
MOST_AT_FAULT = 1_000  # aggregates; with more of them it is the projection that is at fault

AggregateKey = tuple[str, str]

Missing = Callable[[Application, Connection, Projection], Sequence[Delivery]]
"""Returns events that aggregates wait for which the projection holds, in the order of versions.

They begin with the one that an aggregate needs, and lie before the projection's position.
"""


class BlockedAggregate(NamedTuple):
    """What an aggregate waits for.

    It needs a version, and events up to `version_seen` came; that was found at a time (epoch
    milliseconds). With an `error` the needed event came too, and cannot be applied.
    """

    version_needed: int
    version_seen: int
    found_at: int
    error: str | None = None


class TooManyBlockedError(Exception):
    """More aggregates cannot be applied than anybody would look at."""

    def __init__(self, last: CannotApplyError) -> None:
        super().__init__(
            f"more than {MOST_AT_FAULT} aggregates cannot be applied, the last: {last}"
        )


Held = Mapping[AggregateKey, BlockedAggregate]


def nothing_missing(
    application: Application, connection: Connection, projection: Projection
) -> Sequence[Delivery]:
    """Fetch nothing, for what follows no events."""
    return ()


def load(connection: Connection, projection: Projection) -> Held:
    """Return what the projection holds."""
    columns = table.c
    statement = select(
        columns.aggregate_type,
        columns.aggregate_id,
        *(columns[name] for name in BlockedAggregate._fields),
    ).where(_of(projection))
    return {
        (kind, name): BlockedAggregate(*rest) for kind, name, *rest in connection.execute(statement)
    }


def try_again(connection: Connection, projection: Projection, held: Held) -> Held:
    """Let aggregates at fault wait for their event only, as the code may have been mended."""
    connection.execute(update(table).where(_of(projection)).values(error=None))
    return {key: hold._replace(error=None) for key, hold in held.items()}


def record(
    connection: Connection,
    projection: Projection,
    applied: Applied,
    now: int,
    held: Held,
    *,
    seen: bool = True,
) -> Held:
    """Write down the gaps of a batch, and drop the holds whose missing events have come.

    An aggregate that got some of its missing events, and not all, stays held for the next one.
    """
    gaps = {gap.key: gap for gap in applied.gaps}
    touched = {
        key: _hold(held.get(key), gaps.get(key), applied.reached.get(key, 0) + 1, now)
        for key in gaps.keys() | (held.keys() & applied.reached.keys())
    }
    waiting = {
        key: hold for key, hold in touched.items() if hold.version_needed <= hold.version_seen
    }
    over = touched.keys() - waiting.keys()
    put(
        connection,
        table,
        [_identity(projection, key) | hold._asdict() for key, hold in waiting.items()],
    )
    _drop(connection, [_identity(projection, key) for key in over])
    for key in sorted(gaps) if seen else ():
        if key not in held or (gaps[key].fault and not held[key].error):
            _report(projection, gaps[key])
    after = {key: hold for key, hold in {**held, **waiting}.items() if key not in over}
    _require_few_blocked(after, applied)
    return after


def _hold(
    before: BlockedAggregate | None, gap: Gap | None, needed: int, now: int
) -> BlockedAggregate:
    """Return what an aggregate waits for now, which may be nothing more."""
    if gap is not None:
        needed = gap.version_needed
    hold = (before or BlockedAggregate(needed, 0, now))._replace(version_needed=needed)
    if before is not None and before.version_needed != needed:
        hold = hold._replace(error=None)  # that one is mended
    if gap is not None:
        hold = hold._replace(version_seen=max(hold.version_seen, gap.version_seen))
        if gap.fault is not None:
            # PostgreSQL stores no NUL
            hold = hold._replace(error=spell_out(str(gap.fault))[:SHOWN_CHARS])
    return hold


def _require_few_blocked(held: Held, applied: Applied) -> None:
    """Raise TooManyBlockedError when a batch brings them beyond the limit."""
    faults = [gap.fault for gap in applied.gaps if gap.fault is not None]
    if faults and sum(hold.error is not None for hold in held.values()) > MOST_AT_FAULT:
        raise TooManyBlockedError(faults[-1])


def _drop(connection: Connection, identities: list[dict[str, object]]) -> None:
    if identities:
        this = and_(*(table.c[name] == bindparam(f"of_{name}") for name in identities[0]))
        named = [{f"of_{name}": value for name, value in row.items()} for row in identities]
        connection.execute(delete(table).where(this), named)


def _identity(projection: Projection, key: AggregateKey) -> dict[str, object]:
    return {
        "projection": projection.name,
        "projection_version": projection.version,
        "aggregate_type": key[0],
        "aggregate_id": key[1],
    }


def _report(projection: Projection, gap: Gap) -> None:
    name, version = projection.name, projection.version
    aggregate = f"{gap.aggregate_type} {gap.aggregate_id}"
    if gap.fault is not None:
        log.error(
            "projection %s v%s holds %s at version %s: %s; the others go on",
            name, version, aggregate, gap.version_needed, gap.fault, exc_info=gap.fault,
        )  # fmt: skip
        return
    log.error(
        "projection %s v%s holds %s: it needs version %s and has seen %s; the others go on",
        name, version, aggregate, gap.version_needed, gap.version_seen,
    )  # fmt: skip


def forget(connection: Connection, projection: Projection) -> None:
    """Remove what it holds, for a version that is dropped."""
    connection.execute(delete(table).where(_of(projection)))


def _of(projection: Projection) -> ColumnElement[bool]:
    return (table.c.projection == projection.name) & (
        table.c.projection_version == projection.version
    )
