"""Makes what a projection needs in the database; making it again changes nothing."""

from collections.abc import Mapping, Sequence

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    delete,
    select,
)

from projections.engine import (
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
from projections.engine.statements import add_new, exclude_others

metadata = MetaData()
built = Table(
    "projection_built_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("settings", Text, nullable=False),
)

OWN_METADATA = (
    position.metadata, holding.metadata, parking.metadata, sequence.metadata, versions.metadata,
    intervention.metadata, letter.metadata, metadata,
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


class BuiltOtherwise(Exception):
    """The tables of a projection were filled under other settings than it has now."""

    def __init__(self, projection: Projection, found: str) -> None:
        super().__init__(
            f"projection {projection.name} v{projection.version} was built with {found!r}, and is "
            f"configured with {projection.settings!r} now: set it back; or build the next version "
            f"as configured now, with `verdict projection rebuild {projection.name}` and "
            "`verdict projection swap --accept-differences`, and start again"
        )


def create(connection: Connection, projections: Sequence[Projection]) -> None:
    """Create the tables, views and sequences that are missing.

    A view that exists is left alone: which version it shows is nobody's choice but that of a swap.

    Raises:
        BuiltOtherwise: A projection's settings differ from those that its tables were built with.
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
        check_settings(connection, projection)
        versions.begin(connection, projection)


def built_versions(connection: Connection, name: str) -> set[int]:
    """Return the versions of a projection that have tables."""
    statement = select(built.c.version).where(built.c.projection == name)
    return {*connection.execute(statement).scalars()}


def drop(connection: Connection, projection: Projection) -> None:
    """Remove a version that readers do not see: its tables, its position, and all else of it.

    Feeds stay, as all versions share them.
    """
    for table in reversed(projection.tables):
        table.drop(connection, checkfirst=True)
    position.forget(connection, projection)
    holding.forget(connection, projection)
    parking.unpark(connection, projection)
    connection.execute(
        delete(built).where(
            built.c.projection == projection.name, built.c.version == projection.version
        )
    )


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


def check_settings(connection: Connection, projection: Projection) -> None:
    """Return when the tables were built with the settings that the projection has now.

    Raises:
        BuiltOtherwise: They were not.
    """
    row = {
        "projection": projection.name,
        "version": projection.version,
        "settings": projection.settings,
    }
    add_new(connection, built, [row])
    statement = select(built.c.settings).where(
        built.c.projection == projection.name, built.c.version == projection.version
    )
    found: str = connection.execute(statement).scalar_one()
    if found != projection.settings:
        raise BuiltOtherwise(projection, found)
