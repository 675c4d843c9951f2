"""What processors keep in the database, beside the read models: never rebuilt and never dropped.

It says what has left the system, which no replay may do again.
"""

from collections import ChainMap
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from verdict.adapters.sql.statements import exclude_others
from verdict.read_side.projections.projection import Projection, View
from verdict.read_side.schema import layout, migrations
from verdict.read_side.schema.system_views import OWN_VIEWS
from verdict.read_side.tables import outbox

VIEWS: Mapping[str, View] = outbox.VIEWS


def create(connection: Connection) -> None:
    """Create the tables and views that are missing, inside a transaction."""
    exclude_others(connection, "creation")
    migrations.bring_forward(connection)
    layout.create_tables(connection, outbox.metadata)
    layout.put_views(connection, VIEWS)


def views_of(projections: Sequence[Projection]) -> Mapping[str, View]:
    """Return all views that readers may select from, by their names, sorted."""
    shown = [projection.views for projection in projections]
    return dict(sorted(ChainMap(*map(dict, (*shown, OWN_VIEWS, VIEWS))).items()))


def readable(projections: Sequence[Projection]) -> list[str]:
    """Return the names of all views that readers may select from, sorted."""
    return [*views_of(projections)]
