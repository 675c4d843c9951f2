"""Makes what projections need in the database; making it again changes nothing."""

from collections.abc import Sequence

from sqlalchemy import Connection

from verdict.adapters.sql import sequence
from verdict.adapters.sql.statements import exclude_others
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema import layout, migrations, reader_role
from verdict.read_side.schema.system_views import SYSTEM_VIEWS
from verdict.read_side.tables import (
    blocked,
    dead_letters,
    interventions,
    outbox,
    position,
    quarantined,
    skips,
    source_topics,
    verification,
    versions,
)
from verdict.read_side.tables.row_states import VersionState
from verdict.settings.database_address import Roles

OWN_METADATA = (
    position.metadata, blocked.metadata, sequence.metadata, versions.metadata,
    interventions.metadata, dead_letters.metadata, skips.metadata, quarantined.metadata,
    source_topics.metadata, verification.metadata, outbox.metadata,
)  # fmt: skip


def create(connection: Connection, projections: Sequence[Projection]) -> None:
    """Create the tables, views and sequences that are missing, and renew changed views.

    A view keeps showing the version that it shows: only a promotion changes that. If the tables
    were built with other settings or columns, its views stay as they are, too, and the applier
    stops the projection.
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
