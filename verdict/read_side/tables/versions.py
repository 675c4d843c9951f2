"""The state of each version of a projection: one row from `begin` to `forget`.

The first version is live at once. Another one is built, then shown in place of the live one.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Table, Text, case, delete, select, update

from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.statements import add_new
from verdict.errors import RestartRequestedError
from verdict.model.nul import spell_out
from verdict.read_side.projections.projection import Projection, ProjectionStoppedError
from verdict.read_side.schema import layout
from verdict.read_side.tables.columns import metadata, optional, primary, required
from verdict.read_side.tables.position import exclude_others, is_of
from verdict.read_side.tables.row_states import UNSEEN, VersionState

COLUMNS = "columns "  # begins settings that are columns, which only code can set
SHOWN_CHARS = 2000

table = Table(
    "projection_version_v1",
    metadata,
    primary("projection", Text, "Name of the projection."),
    primary("version", BigInteger, "Version of the projection's tables."),
    required("state", Text, "`incomplete`, `candidate`, `live` (readers see it) or `previous`."),
    required("settings", Text, "The settings that its tables were filled with, as JSON."),
    optional("build", Text),
    optional("error", Text, "Why it is stopped, and what can be done about it."),
    optional("topic", Text, "Topic of the record at which it stopped, if it was at one."),
    optional("partition", BigInteger, "Partition of that record."),
    optional("offset", BigInteger, "Offset of that record."),
    optional("stopped_at", InstantType, "Since when it is stopped."),
)
GOING = dict.fromkeys(("error", "topic", "partition", "offset", "stopped_at"))


class Version(NamedTuple):
    """What is known of a version: its `VersionState`, and the `error` that stopped it, if any."""

    state: str
    settings: str
    build: str | None
    error: str | None


class SettingsChangedError(Exception):
    """The tables of a projection were filled under other settings or columns, `found`."""

    def __init__(self, projection: Projection, found: str, differs: str, remedy: str = "") -> None:
        self.found = found
        name = projection.name
        super().__init__(
            f"projection {name} v{projection.version} {differs}: {remedy}build the next version, "
            f"`verdict projection rebuild {name}`, and put it in place, `verdict projection "
            f"promote {name} --accept-differences`"
        )


class SupersededError(RestartRequestedError):
    """Readers see another version by now; what was about to be written is rolled back."""

    def __init__(self, projection: Projection, live: int | None) -> None:
        super().__init__(
            f"projection {projection.name} v{projection.version} is not the one that readers see "
            f"any more, that is v{live}"
        )


def all_live(connection: Connection) -> Mapping[str, int]:
    if not layout.has_table(connection, table.name):
        return {}  # the read side may not have been created yet
    found = select(table.c.projection, table.c.version).where(table.c.state == VersionState.LIVE)
    return {row.projection: row.version for row in connection.execute(found)}


def live(connection: Connection, name: str) -> int | None:
    is_live = (table.c.projection == name) & (table.c.state == VersionState.LIVE)
    return connection.scalar(select(table.c.version).where(is_live))


def every(connection: Connection, name: str) -> Mapping[int, Version]:
    """Return all versions of a projection that have tables, by number."""
    columns = (table.c[field] for field in Version._fields)
    statement = select(table.c.version, *columns).where(table.c.projection == name)
    return {number: Version(*known) for number, *known in connection.execute(statement)}


def of(connection: Connection, projection: Projection) -> Version:
    """Return what is known of this version, which exists."""
    return every(connection, projection.name)[projection.version]


def check_live(connection: Connection, projection: Projection) -> bool:
    """Return whether this version is noted as stopped."""
    found = every(connection, projection.name).get(projection.version)
    if found is None or found.state != VersionState.LIVE:
        raise SupersededError(projection, live(connection, projection.name))
    return found.error is not None


def change_of(connection: Connection, projection: Projection) -> SettingsChangedError | None:
    """Return how the settings or columns of the tables differ from what the projection declares."""
    found = of(connection, projection).settings
    if found != projection.settings:
        differs = f"was built with {found!r}, and is configured with {projection.settings!r} now"
        remedy = "set it back and start again; or, for the new settings, "
        return SettingsChangedError(projection, found, differs, remedy)
    for one in projection.tables:
        columns, declared = layout.column_names(connection, one.name), one.columns.keys()
        if {*columns} != {*declared}:
            lacking = ", ".join(name for name in declared if name not in columns) or "none"
            unknown = ", ".join(name for name in columns if name not in declared) or "none"
            differs = (
                f"has other columns in this code than {one.name} (missing there: {lacking}; "
                f"unknown here: {unknown})"
            )
            return SettingsChangedError(projection, COLUMNS + ", ".join(columns), differs)
    return None


def check_settings(connection: Connection, projection: Projection) -> None:
    """Return if settings and columns of the tables are those that the projection declares."""
    if (changed := change_of(connection, projection)) is not None:
        raise changed


def begin(connection: Connection, projection: Projection) -> None:
    """Record a new version, which is live if there is no other one; a known one stays as it is."""
    row = {
        "projection": projection.name,
        "version": projection.version,
        "state": VersionState.LIVE
        if live(connection, projection.name) is None
        else VersionState.CANDIDATE,
        "settings": projection.settings,
    }
    add_new(connection, table, [row])


def build(connection: Connection, projection: Projection, name: str = "") -> None:
    """Note that the tables are incomplete until `finish`; never for a version that readers see."""
    exclude_others(connection, projection)
    begun = update(table).where(is_of(projection, table), table.c.state.in_(UNSEEN))
    connection.execute(begun.values(state=VersionState.INCOMPLETE, build=name))


def is_build(connection: Connection, projection: Projection, name: str) -> bool:
    """Tell whether the tables are still those of a build, and keep them so up to the commit."""
    exclude_others(connection, projection)
    found = every(connection, projection.name).get(projection.version)
    return found is not None and (found.state, found.build) == (VersionState.INCOMPLETE, name)


def finish(connection: Connection, projection: Projection) -> None:
    """Note that the tables hold all that they should, up to the position."""
    _change(connection, projection, state=VersionState.CANDIDATE, build=None)


def show(connection: Connection, projection: Projection) -> None:
    """Note that readers see this version from the commit on, and that the former one is kept."""
    shown = table.c.version == projection.version
    either = shown | (table.c.state == VersionState.LIVE)
    state = case((shown, VersionState.LIVE), else_=VersionState.PREVIOUS)
    changed = update(table).where(table.c.projection == projection.name, either)
    connection.execute(changed.values(state=state, **GOING))


def stop(connection: Connection, projection: Projection, error: Exception, now: int) -> None:
    """Note that `projection` is stopped since `now` (epoch milliseconds), and why."""
    topic, partition, offset = (
        error.place if isinstance(error, ProjectionStoppedError) else (None,) * 3
    )
    text = spell_out(str(error))[:SHOWN_CHARS]
    place = {"topic": topic, "partition": partition, "offset": offset}
    _change(connection, projection, error=text, **place, stopped_at=now)


def go_on(connection: Connection, projection: Projection) -> None:
    _change(connection, projection, **GOING)


def forget(connection: Connection, projection: Projection) -> None:
    connection.execute(delete(table).where(is_of(projection, table)))


def _change(connection: Connection, projection: Projection, **values: Any) -> None:
    connection.execute(update(table).where(is_of(projection, table)).values(**values))
