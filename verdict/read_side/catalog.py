"""The projections of an application: the engine's own, its own, and the states of aggregates."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from verdict.adapters.sql.readers.reader import open_reader
from verdict.errors import UnreachableError, VerdictError
from verdict.model.aggregate import InvalidApplicationError
from verdict.model.application import Application
from verdict.model.projection import (
    AnyDeclaration,
    Declaration,
    TableProjection,
    settings_of,
    settings_text,
)
from verdict.read_side.projections.builtin.aggregate_state import state_views
from verdict.read_side.projections.builtin.event_archive import event_archive
from verdict.read_side.projections.builtin.outcome import outcome, policy_rejection
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables.columns import SYSTEM_COLUMNS
from verdict.settings.settings import Settings

FIRST = 1
LONGEST_BYTES = 63
LIVE_SETTINGS = """\
SELECT settings FROM projection_version JOIN projection_live USING (projection, version)
WHERE projection = ?"""

AtVersion = Callable[[int], Projection]


class UnknownProjectionError(VerdictError):
    """There is no projection of that name."""

    exit_code = 2

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"there is no projection {name!r}: there are {', '.join(known)}")


def of_every_application(application: Application) -> tuple[TableProjection, ...]:
    archive = partial(event_archive, application)
    rejections = partial(policy_rejection, application)
    sorted_by = ("decided_at", "aggregate_type", "aggregate_id", "command_id")
    return (
        TableProjection(name="event_archive", key=("global_position",), factory=archive),
        TableProjection(name="outcome", key=("topic", "partition", "offset"), factory=outcome),
        TableProjection(name="policy_rejection", key=sorted_by, factory=rejections),
    )


def declared_projections(application: Application) -> Mapping[str, AnyDeclaration]:
    """Return the declared projections by name, in the order in which a batch updates them."""
    own = {one.name: one for one in of_every_application(application)}
    states = state_views(application.aggregates)
    of_application = {one.name: one for one in application.projections}
    if clash := sorted({*own, *states} & {*of_application}):
        raise InvalidApplicationError(
            f"{application.name} has a projection {clash[0]!r}, and so has every application: "
            "rename yours"
        )
    return own | of_application | states


def declared(
    application: Application, chosen: Mapping[str, object] | None = None
) -> Mapping[str, AtVersion]:
    """Return the projections by name, as functions of their version."""
    known = declared_projections(application)
    return {name: at_version(one, chosen or {}) for name, one in known.items()}


def projections(
    application: Application,
    chosen: Mapping[str, object] | None = None,
    live: Mapping[str, int] | None = None,
) -> list[Projection]:
    """Return the projections at the versions that readers see."""
    known = live or {}
    return [at(known.get(name, FIRST)) for name, at in declared(application, chosen).items()]


@lru_cache(maxsize=16)
def first_versions(application: Application) -> Sequence[Projection]:
    """Return the projections to look up topics, views and columns, which no setting changes."""
    return tuple(projections(application))


def projection_by_name(settings: Settings, name: str) -> AtVersion:
    known = declared(settings.application, settings.chosen)
    if name not in known:
        raise UnknownProjectionError(name, known)
    return known[name]


def row_per_aggregate(application: Application) -> Mapping[str, tuple[str, ...]]:
    """Return by projection the aggregate types for which it keeps a row per aggregate."""
    return {one.name: one.aggregate_types for one in first_versions(application)}


def live_settings(settings: Settings, name: str) -> Settings:
    """Return `settings`, but with those that the live version of a projection was built with.

    Without a read side they stay as they are, as they do before the first start.
    """
    try:
        with open_reader(settings) as reader:
            built = [*reader.select(LIVE_SETTINGS, [name]).rows]
    except UnreachableError:
        return settings
    return with_live_settings(settings, name, *built[0]) if built else settings


def with_live_settings(settings: Settings, name: str, built: str) -> Settings:
    """Return `settings`, but with the ones in the text that a version was built with."""
    known = declared_projections(settings.application)
    chosen = settings_of(built, known[name].settings) if name in known else {}
    return settings.model_copy(update=dict(chosen)) if chosen else settings


def at_version(read_model: AnyDeclaration, chosen: Mapping[str, object]) -> AtVersion:
    given = {name: chosen[name] for name in read_model.settings if name in chosen}

    def made(version: int) -> Projection:
        if isinstance(read_model, Declaration):
            projection: Projection = compile_projection(read_model, version, **given)
        else:
            projection = _with_tables(read_model, version, given)
        check_identifiers(projection)
        return projection

    return made


def _with_tables(
    read_model: TableProjection, version: int, given: Mapping[str, object]
) -> Projection:
    projection: Projection = read_model.factory(version=version, **given)
    if read_model.name not in projection.views:
        raise InvalidApplicationError(
            f"projection {read_model.name!r} has no view of that name, by which all else finds "
            f"its rows: it has {', '.join(projection.views) or 'none'}; call one of them so, "
            "or the projection like one"
        )
    if read_model.settings:
        projection = replace(projection, settings=settings_text(read_model.factory, given))
    return projection


def check_identifiers(projection: Projection) -> None:
    """Return if PostgreSQL can hold each name of a projection; else no database of it is made."""
    tables = projection.table.metadata.tables.values()
    names = [("view", view) for view in projection.views]
    for table in tables:
        if taken := SYSTEM_COLUMNS.intersection(table.columns.keys()):
            raise InvalidApplicationError(
                f"projection {projection.name!r} has the column {min(taken)!r} in {table.name}: "
                "each table in PostgreSQL has a system column of that name, so take another one"
            )
        names += [("table", table.name), *(("column", str(one.name)) for one in table.columns)]
        names += [("index", str(index.name)) for index in table.indexes if index.name]
    for what, name in names:
        if (length := len(name.encode())) > LONGEST_BYTES:
            raise InvalidApplicationError(
                f"projection {projection.name!r} has the {what} {name!r} of {length} bytes, and a "
                f"name in PostgreSQL has at most {LONGEST_BYTES}: take a shorter one"
            )
