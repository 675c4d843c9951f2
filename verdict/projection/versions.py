"""Which version of each projection readers see; others are being built, or kept to go back to."""

from collections.abc import Mapping

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, select

from verdict.database import ownership
from verdict.database.statements import add_new, put
from verdict.projection import layout
from verdict.projection.projection import Projection

metadata = MetaData()
table = Table(
    "projection_live_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("previous", BigInteger),
)


class Superseded(Exception):
    """Readers see another version by now; what was about to be written is rolled back."""

    def __init__(self, projection: Projection, live: int | None) -> None:
        super().__init__(
            f"projection {projection.name} v{projection.version} is not the one that readers see "
            f"any more, that is v{live}"
        )


def live(connection: Connection) -> Mapping[str, int]:
    """Return the version that readers see, by projection."""
    if not ownership.exists(connection, layout.tables_schema(connection), table.name):
        return {}  # whoever asks first need not have made the read side
    found = connection.execute(select(table.c.projection, table.c.version))
    return {row.projection: row.version for row in found}


def previous(connection: Connection, name: str) -> int | None:
    """Return the version that readers saw before the live one, if it is kept."""
    statement = select(table.c.previous).where(table.c.projection == name)
    return connection.execute(statement).scalar()


def begin(connection: Connection, projection: Projection) -> None:
    """Let readers see this version unless they see one already."""
    row = {"projection": projection.name, "version": projection.version, "previous": None}
    add_new(connection, table, [row])


def switch(connection: Connection, projection: Projection, before: int) -> None:
    """Write down that readers see this version from now on, and saw `before`."""
    row = {"projection": projection.name, "version": projection.version, "previous": before}
    put(connection, table, [row])


def check_live(connection: Connection, projection: Projection) -> None:
    """Return when readers see this version.

    Args:
        connection: In the transaction that advances the position: a switch waits for its end, or
            it waits for the switch.
        projection: Whose version it must be.

    Raises:
        Superseded: They see another one.
    """
    statement = select(table.c.version).where(table.c.projection == projection.name)
    found = connection.execute(statement).scalar()
    if found != projection.version:
        raise Superseded(projection, found)
