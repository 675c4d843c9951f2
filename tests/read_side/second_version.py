"""A version of a projection that is built in one go next to the live one, without Spark."""

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, create_engine

from tests.application import APPLICATION
from tests.kit.databases import ReadSide, Rows
from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.statements import append
from verdict.read_side.apply.batch import Delivery, StateChange, UnreadableRecord
from verdict.read_side.apply.overrides import amended
from verdict.read_side.catalog import declared
from verdict.read_side.projections.projection import Projection, Rebuildable
from verdict.read_side.rebuild.comparison import TableContent, content
from verdict.read_side.schema import creation, layout
from verdict.read_side.tables import interventions

BESIDE = 2


class Both(NamedTuple):
    """What a table holds of the live version, and of the one that was built."""

    live: TableContent
    built: TableContent

    @property
    def equal(self) -> bool:
        """Whether both hold the same."""
        return self.live == self.built


def compared(
    read_side: ReadSide, name: str, deliveries: Iterable[Delivery], built: Projection | None = None
) -> list[Both]:
    """Build version 2 of a projection from all of `deliveries`; compare it with what is live.

    What people decided about events counts, as it does for a rebuild.

    It is built on PostgreSQL when the live one is there, else in memory: tables on a disk cost
    more time than all the rest.

    Args:
        read_side: Where the live version is.
        name: Of the projection.
        deliveries: All there are.
        built: Version 2, if the application does not declare the projection.
    """
    deliveries = [*deliveries]
    live, built = read_side.projections[name], built or declared(APPLICATION)[name](BESIDE)
    assert isinstance(built, Rebuildable)
    engine = read_side.open() if read_side.is_postgresql else create_engine("sqlite://")
    with engine.begin() as connection, read_side.engine.connect() as reading:
        decided = interventions.in_force(reading, name)
        _build(connection, built, amended(sorted(deliveries, key=_order), decided))
        pairs = zip(live.tables, built.tables, strict=True)
        found = [Both(content(reading, one), content(connection, two)) for one, two in pairs]
        creation.drop(connection, built)
    engine.dispose()
    return found


def held_in_one_go(name: str, deliveries: Iterable[Delivery]) -> Rows:
    """Return what is held after all of `deliveries` are taken at once, by aggregate.

    Type, id, version needed, version seen and error, as `projection_blocked` has them.
    """
    built = declared(APPLICATION)[name](BESIDE)
    assert isinstance(built, Rebuildable)
    gaps = [one.gap for one in built.builder(sorted(deliveries, key=_order)) if one.gap]
    return [
        (
            gap.aggregate_type,
            gap.aggregate_id,
            gap.version_needed,
            gap.version_seen,
            gap.fault and str(gap.fault),
        )
        for gap in sorted(gaps, key=lambda gap: gap.aggregate_id)
    ]


def _build(connection: Connection, built: Rebuildable, deliveries: Iterable[Delivery]) -> None:
    creation.create(connection, [built])
    table = built.tables[0]
    rows = [one.values for one in built.builder(deliveries) if one.values is not None]
    layout.drop_indexes(connection, table)
    append(connection, table, BulkRows(built.builder.columns, rows))
    layout.create_indexes(connection, table)
    built.complete(connection)


def _order(delivery: Delivery) -> tuple[str, str, int, int]:
    record = delivery.record
    assert record is not None
    assert not isinstance(record, UnreadableRecord)
    key = record.key if isinstance(record, StateChange) else record.aggregate_id
    return key, delivery.topic, delivery.partition, delivery.offset
