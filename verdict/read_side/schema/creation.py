"""Makes what projections need in the database; doing it again changes nothing."""

from collections.abc import Sequence

from sqlalchemy import Connection

from verdict.adapters.sql import sequence
from verdict.adapters.sql.statements import exclude_others
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema import layout, migrations, reader_role
from verdict.read_side.schema.system_views import SYSTEM_VIEWS
from verdict.read_side.tables import (
    blocked,
    columns,
    interventions,
    position,
    verification,
    versions,
)
from verdict.read_side.tables.row_states import VersionState
from verdict.settings.database_address import Roles

OWN_METADATA = (columns.metadata, sequence.metadata)


def create(connection: Connection, projections: Sequence[Projection]) -> None:
    """Create the tables, views and sequences that are missing, and renew changed views.

    Only a promotion changes which version a view shows. If the tables were built with other
    settings or columns, the views stay as they are, and the applier stops the projection.
    """
    exclude_others(connection, "creation")
    migrations.bring_forward(connection)
    for own in OWN_METADATA:
        layout.create_tables(connection, own)
    layout.put_views(connection, SYSTEM_VIEWS)
    for name in (interventions.SEQUENCE, verification.SEQUENCE):
        sequence.begin_sequence(connection, name)
    for projection in projections:
        layout.create_tables(connection, projection.table.metadata)
        for name in projection.sequences:
            sequence.begin_sequence(connection, name)
        versions.begin(connection, projection)
        is_live = versions.of(connection, projection).state == VersionState.LIVE
        fits = is_live and versions.change_of(connection, projection) is None
        layout.put_views(connection, projection.views, renew=fits)


def drop(connection: Connection, projection: Projection) -> None:
    """Remove a version that readers do not see, but not the feed, which all versions share."""
    layout.drop_tables(connection, reversed(projection.tables))
    position.forget(connection, projection)
    blocked.forget(connection, projection)
    versions.forget(connection, projection)


def show(connection: Connection, projection: Projection, roles: Roles) -> None:
    """Let readers see this version from the commit on, and keep the one that they saw."""
    for name, selected in projection.views.items():
        layout.replace_view(connection, name, selected)
    reader_role.grant_readers(connection, roles, [*projection.views])
    versions.show(connection, projection)
