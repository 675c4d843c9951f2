"""With which settings the tables of each version were filled, and which are whole.

Nobody fills them with others, and nobody gives readers those of a build that did not end.
"""

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

from verdict.database.statements import add_new, put
from verdict.projection.position import exclude_others, is_of
from verdict.projection.projection import Projection

metadata = MetaData()
table = Table(
    "projection_built_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("settings", Text, nullable=False),
)
torsos = Table(
    "projection_torso_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("build", Text, nullable=False),
)


COLUMNS = "columns "  # begins settings that code decides, so that nobody can set them back


class BuiltOtherwise(Exception):
    """The tables of a projection were filled under other settings than it has now, `found`."""

    def __init__(self, projection: Projection, found: str) -> None:
        self.found = found
        super().__init__(
            f"projection {projection.name} v{projection.version} was built with {found!r}, and is "
            f"configured with {projection.settings!r} now: set it back and start again; or build "
            f"the next version as configured now, `verdict projection rebuild {projection.name}`, "
            f"and put it in place, `verdict projection swap {projection.name} "
            "--accept-differences`"
        )


def begin(connection: Connection, projection: Projection) -> None:
    """Write down the settings of a version that is new; those of another stay."""
    row = {
        "projection": projection.name,
        "version": projection.version,
        "settings": projection.settings,
    }
    add_new(connection, table, [row])


def check(connection: Connection, projection: Projection) -> None:
    """Return when the tables were built with the settings that the projection has now.

    Raises:
        BuiltOtherwise: They were not.
    """
    found = settings_of(connection, projection)
    if found != projection.settings:
        raise BuiltOtherwise(projection, found)


def settings_of(connection: Connection, projection: Projection) -> str:
    """Return the settings that the tables were filled under."""
    statement = select(table.c.settings).where(is_of(projection, table))
    settings: str = connection.execute(statement).scalar_one()
    return settings


def begin_build(connection: Connection, projection: Projection, build: str = "") -> None:
    """Note that the tables are a torso, up to `end_build`.

    Args:
        connection: In a transaction.
        projection: At the version that is built.
        build: Tells who fills them from another one; nobody yet when it is empty.
    """
    exclude_others(connection, projection)
    row = {"projection": projection.name, "version": projection.version, "build": build}
    put(connection, torsos, [row])


def is_build(connection: Connection, projection: Projection, build: str) -> bool:
    """Tell whether the tables are still those of `build`; it is so up to the commit then."""
    exclude_others(connection, projection)
    found = select(torsos.c.build).where(is_of(projection, torsos))
    return connection.execute(found).scalar() == build


def end_build(connection: Connection, projection: Projection) -> None:
    """Note that the tables hold all that they should, up to the position."""
    connection.execute(delete(torsos).where(is_of(projection, torsos)))


def is_torso(connection: Connection, projection: Projection) -> bool:
    """Tell whether a build of the tables was begun and did not end."""
    return connection.execute(select(torsos).where(is_of(projection, torsos))).first() is not None


def versions_of(connection: Connection, name: str) -> set[int]:
    """Return the versions of a projection that have tables."""
    statement = select(table.c.version).where(table.c.projection == name)
    return {*connection.execute(statement).scalars()}


def forget(connection: Connection, projection: Projection) -> None:
    """Remove what is known of a version that is dropped."""
    end_build(connection, projection)
    connection.execute(delete(table).where(is_of(projection, table)))
