"""Makes what a projection needs in the database; making it again changes nothing."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from projections.engine import (
    built,
    holding,
    intervention,
    layout,
    letter,
    parking,
    position,
    reader_role,
    sequence,
    versions,
)
from projections.engine.projection import Projection, View
from projections.engine.statements import exclude_others

OWN_METADATA = (
    position.metadata, holding.metadata, parking.metadata, sequence.metadata, versions.metadata,
    intervention.metadata, letter.metadata, built.metadata,
)  # fmt: skip
OWN_VIEWS: Mapping[str, View] = {
    "projection_position": select(position.table),
    "projection_held": select(holding.table),
    "projection_parked": select(parking.table),
    "projection_live": select(versions.table),
    "letter": select(letter.table),
    "letter_intervention": select(letter.intervention),
    "projection_intervention": select(intervention.table),
}


def create(connection: Connection, projections: Sequence[Projection]) -> None:
    """Create the tables, views and sequences that are missing.

    A view that exists is left alone: which version it shows is nobody's choice but that of a swap.
    Tables that were built with other settings are, too; who would fill them is told.
    """
    exclude_others(connection, "creation")
    layout.create_schema(connection)
    for own in OWN_METADATA:
        layout.create_tables(connection, own)
    layout.create_views(connection, OWN_VIEWS)
    sequence.begin(connection, intervention.SEQUENCE)
    for projection in projections:
        layout.create_tables(connection, projection.metadata)
        layout.create_views(connection, projection.views)
        for name in projection.sequences:
            sequence.begin(connection, name)
        built.begin(connection, projection)
        versions.begin(connection, projection)


def drop(connection: Connection, projection: Projection) -> None:
    """Remove a version that readers do not see: its tables, its position, and all else of it.

    Feeds stay, as all versions share them.
    """
    for table in reversed(projection.tables):
        table.drop(connection, checkfirst=True)
    position.forget(connection, projection)
    holding.forget(connection, projection)
    parking.unpark(connection, projection)
    built.forget(connection, projection)


def show(connection: Connection, projection: Projection, role: str) -> None:
    """Let readers see this version, in the transaction of `connection`.

    Args:
        connection: Inside a transaction.
        projection: At the version to see.
        role: Of readers, on PostgreSQL.
    """
    for name, selected in projection.views.items():
        layout.replace_view(connection, name, selected)
    reader_role.let_in(connection, role, [*projection.views])


def view_names(projections: Sequence[Projection]) -> list[str]:
    """Return the names of all views that readers may select from, sorted."""
    return sorted({*OWN_VIEWS, *(name for projection in projections for name in projection.views)})
