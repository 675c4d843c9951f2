"""What processors keep in the database, beside the read models: never rebuilt and never dropped.

It says what has left the system, which no replay may do again.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from compose.mailing import outbox
from projections.engine import layout, migrations
from projections.engine.creation import view_names
from projections.engine.projection import Projection, View
from projections.engine.statements import exclude_others

METADATA = (outbox.metadata,)
VIEWS: Mapping[str, View] = {**outbox.VIEWS}


def create(connection: Connection) -> None:
    """Create the tables and views that are missing, inside a transaction."""
    exclude_others(connection, "creation")
    migrations.bring_forward(connection)
    for metadata in METADATA:
        layout.create_tables(connection, metadata)
    layout.put_views(connection, VIEWS)


def readable(projections: Sequence[Projection]) -> list[str]:
    """Return the names of all views that readers may select from, sorted."""
    return sorted({*view_names(projections), *VIEWS})
