"""Makes what a projection needs in the database; making it again changes nothing."""

from collections.abc import Sequence

from sqlalchemy import Connection

from verdict.adapters.sql import sequence
from verdict.adapters.sql.statements import exclude_others
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema import layout, migrations, reader_role
from verdict.read_side.schema.system_views import OWN_VIEWS
from verdict.read_side.tables import (
    blocked,
    dead_letters,
    followed_by,
    interventions,
    position,
    quarantined,
    skips,
    source_topics,
    verification,
    versions,
)
from verdict.read_side.tables.version_state import VersionState
from verdict.settings.database_roles import Roles

OWN_METADATA = (
    position.metadata, blocked.metadata, sequence.metadata, versions.metadata,
    interventions.metadata, dead_letters.metadata, skips.metadata, quarantined.metadata,
    source_topics.metadata, followed_by.metadata, verification.metadata,
)  # fmt: skip


def create(connection: Connection, projections: Sequence[Projection]) -> None:
    """Create the tables, views and sequences that are missing; bring those of old to today's form.

    A view shows the version that it shows: that is nobody's choice but a swap's. Tables that were
    built with other settings are left alone, too; who would fill them is told.

    Raises:
        NewerDatabaseError: A newer version of verdict has been here.
        ForeignTableError: A name is taken by what we did not make.
    """
    exclude_others(connection, "creation")
    migrations.bring_forward(connection)
    for own in OWN_METADATA:
        layout.create_tables(connection, own)
    layout.put_views(connection, OWN_VIEWS)
    for name in (interventions.SEQUENCE, verification.SEQUENCE):
        sequence.begin_sequence(connection, name)
    for projection in projections:
        layout.create_tables(connection, projection.table.metadata)
        for name in projection.sequences:
            sequence.begin_sequence(connection, name)
        versions.begin(connection, projection)
        if _is_seen(connection, projection):
            layout.put_views(connection, projection.views)
        else:
            layout.create_views(connection, projection.views)


def drop(connection: Connection, projection: Projection) -> None:
    """Remove a version that readers do not see: its tables, its position, and all else of it.

    Feeds stay, as all versions share them.
    """
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


def _is_seen(connection: Connection, projection: Projection) -> bool:
    """Tell whether readers see this version, and it is declared as it was built."""
    found = versions.of(connection, projection)
    return found.state == VersionState.LIVE and found.settings == projection.settings
