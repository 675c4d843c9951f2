"""What state each version of a projection is in, in one row: from `begin` to `forget`.

The first one is live at once. Every other one is built, which may take a while, then shown in place
of the live one, which is kept. Each may be stopped, and goes on where it stands.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    case,
    delete,
    select,
    update,
)

from verdict.adapters.sql import ownership
from verdict.adapters.sql.instant import InstantType
from verdict.adapters.sql.statements import add_new
from verdict.errors import RestartRequestedError
from verdict.model.nul import spell_out
from verdict.read_side.projections.described import Query
from verdict.read_side.projections.projection import Projection, ProjectionStoppedError
from verdict.read_side.schema import layout
from verdict.read_side.tables.position import exclude_others, is_of
from verdict.read_side.tables.version_state import UNSEEN, VersionState

COLUMNS = "columns "  # begins settings that code decides, so that nobody can set them back
SHOWN_CHARS = 2000


metadata = MetaData()
table = Table(
    "projection_version_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("state", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("build", Text),
    Column("error", Text),
    Column("topic", Text),
    Column("partition", BigInteger),
    Column("offset", BigInteger),
    Column("stopped_at", InstantType),
)
GOING = dict.fromkeys(("error", "topic", "partition", "offset", "stopped_at"))


class Version(NamedTuple):
    """What is known of a version: its `VersionState`, and the `error` that stopped it, if any."""

    state: str
    settings: str
    build: str | None
    error: str | None


class SettingsChangedError(Exception):
    """The tables of a projection were filled under other settings than it has now, `found`."""

    def __init__(self, projection: Projection, found: str) -> None:
        self.found = found
        super().__init__(
            f"projection {projection.name} v{projection.version} was built with {found!r}, and is "
            f"configured with {projection.settings!r} now: set it back and start again; or build "
            f"the next version as configured now, `verdict projection rebuild {projection.name}`, "
            f"and put it in place, `verdict projection promote {projection.name} "
            "--accept-differences`"
        )


class SupersededError(RestartRequestedError):
    """Readers see another version by now; what was about to be written is rolled back."""

    def __init__(self, projection: Projection, live: int | None) -> None:
        super().__init__(
            f"projection {projection.name} v{projection.version} is not the one that readers see "
            f"any more, that is v{live}"
        )


def all_live(connection: Connection) -> Mapping[str, int]:
    """Return the version that readers see, by projection."""
    if not ownership.exists(connection, layout.tables_schema(connection), table.name):
        return {}  # whoever asks first need not have made the read side
    found = select(table.c.projection, table.c.version).where(table.c.state == VersionState.LIVE)
    return {row.projection: row.version for row in connection.execute(found)}


def live(connection: Connection, name: str) -> int | None:
    """Return the version of a projection that readers see."""
    found = _live(connection, name)
    return None if found is None else found[0]


def _live(connection: Connection, name: str) -> tuple[int, str | None] | None:
    """Return the version of a projection that readers see, and why it is stopped."""
    is_live = (table.c.projection == name) & (table.c.state == VersionState.LIVE)
    found = connection.execute(select(table.c.version, table.c.error).where(is_live)).first()
    return None if found is None else (found.version, found.error)


def every(connection: Connection, name: str) -> Mapping[int, Version]:
    """Return all versions of a projection, by number: those that have tables."""
    columns = (table.c[field] for field in Version._fields)
    statement = select(table.c.version, *columns).where(table.c.projection == name)
    return {number: Version(*known) for number, *known in connection.execute(statement)}


def of(connection: Connection, projection: Projection) -> Version:
    """Return what is known of this version, which is there."""
    return every(connection, projection.name)[projection.version]


def check_live(connection: Connection, projection: Projection) -> bool:
    """Return, when readers see this version, whether it is noted as stopped.

    Raises:
        SupersededError: They see another one.
    """
    version, error = _live(connection, projection.name) or (None, None)
    if version != projection.version:
        raise SupersededError(projection, version)
    return error is not None


def check_settings(connection: Connection, projection: Projection) -> None:
    """Return when the tables were filled under the settings that the projection has now.

    Raises:
        SettingsChangedError: They were not.
    """
    found = of(connection, projection).settings
    if found != projection.settings:
        raise SettingsChangedError(projection, found)


def begin(connection: Connection, projection: Projection) -> None:
    """Write down a version that is new, for readers to see if they see none; others stay."""
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
    """Tell whether the tables are still those of a build; it is so up to the commit then."""
    exclude_others(connection, projection)
    found = every(connection, projection.name).get(projection.version)
    return found is not None and (found.state, found.build) == (VersionState.INCOMPLETE, name)


def finish(connection: Connection, projection: Projection) -> None:
    """Note that the tables hold all that they should, up to the position."""
    _change(connection, projection, state=VersionState.CANDIDATE, build=None)


def show(connection: Connection, projection: Projection) -> None:
    """Note that readers see this version from the commit on, and that the one before it is kept.

    That one is not stopped any more, as nobody brings it forward.
    """
    shown = table.c.version == projection.version
    either = shown | (table.c.state == VersionState.LIVE)
    state = case((shown, VersionState.LIVE), else_=VersionState.PREVIOUS)
    changed = update(table).where(table.c.projection == projection.name, either)
    connection.execute(changed.values(state=state, **GOING))


def stop(connection: Connection, projection: Projection, error: Exception, now: int) -> None:
    """Write down that `projection` is stopped since `now` (epoch milliseconds), and why."""
    topic, partition, offset = (
        error.place if isinstance(error, ProjectionStoppedError) else (None,) * 3
    )
    said = spell_out(str(error))[:SHOWN_CHARS]
    place = {"topic": topic, "partition": partition, "offset": offset}
    _change(connection, projection, error=said, **place, stopped_at=now)


def go_on(connection: Connection, projection: Projection) -> None:
    """Forget why `projection` was stopped."""
    _change(connection, projection, **GOING)


def forget(connection: Connection, projection: Projection) -> None:
    """Remove what is known of a version that is dropped."""
    connection.execute(delete(table).where(is_of(projection, table)))


def views(among: Table) -> Mapping[str, Query]:
    """Return what readers may select of a table with the columns of `table`, by view."""
    one, kept = among.c, among.alias("kept").c
    place = one.topic, one.partition, one.offset
    before = (kept.projection == one.projection) & (kept.state == VersionState.PREVIOUS)
    return {
        "projection_version": select(
            one.projection, one.version, one.state, one.settings, one.error, one.stopped_at
        ),
        "projection_live": select(one.projection, one.version, kept.version.label("previous"))
        .outerjoin(kept.version.table, before)
        .where(one.state == VersionState.LIVE),
        "projection_stopped": select(
            one.projection, one.version, one.error, *place, one.stopped_at
        ).where(one.error.is_not(None)),
    }


def _change(connection: Connection, projection: Projection, **values: Any) -> None:
    connection.execute(update(table).where(is_of(projection, table)).values(**values))
