"""Which read models there are: the engine's own, the application's, and aggregates' states."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import cast

from verdict.model.aggregate import InvalidApplicationError
from verdict.model.application import Application
from verdict.model.projection import AnyDeclaration, Declaration, TableProjection, settings_text
from verdict.read_side.projections.builtin.aggregate_state import state_views
from verdict.read_side.projections.builtin.event_archive import event_archive
from verdict.read_side.projections.builtin.outcome import outcome
from verdict.read_side.projections.builtin.policy_rejection import policy_rejection
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables.identifiers import check_identifiers

FIRST = 1

AtVersion = Callable[[int], Projection]


def of_every_application(application: Application) -> tuple[TableProjection, ...]:
    """Return the read models that the engine brings along."""
    return (
        TableProjection(
            name="event_archive",
            key=("global_position",),
            factory=partial(event_archive, application),
        ),
        TableProjection(name="outcome", key=("topic", "partition", "offset"), factory=outcome),
        TableProjection(
            name="policy_rejection",
            key=("decided_at", "aggregate_type", "aggregate_id", "command_id"),
            factory=partial(policy_rejection, application),
        ),
    )


def declared_projections(application: Application) -> Mapping[str, AnyDeclaration]:
    """Return the read models by name, in the order in which a batch updates them.

    Raises:
        InvalidApplicationError: The application calls one of its own as the engine calls one.
    """
    own = {one.name: one for one in of_every_application(application)}
    states = state_views(application.aggregates)
    of_application = {one.name: one for one in application.projections}
    if clash := sorted({*own, *states} & {*of_application}):
        raise InvalidApplicationError(
            f"{application.name} has a read model {clash[0]!r}, and so has every application: "
            "rename yours"
        )
    return own | of_application | states


def declared(
    application: Application, chosen: Mapping[str, object] | None = None
) -> Mapping[str, AtVersion]:
    """Return the read models, as functions of their version."""
    return {
        name: at_version(one, chosen or {})
        for name, one in declared_projections(application).items()
    }


def projections(
    application: Application,
    chosen: Mapping[str, object] | None = None,
    live: Mapping[str, int] | None = None,
) -> list[Projection]:
    """Return the read models at the versions that readers see."""
    known = live or {}
    return [at(known.get(name, FIRST)) for name, at in declared(application, chosen).items()]


@lru_cache(maxsize=16)
def first_versions(application: Application) -> Sequence[Projection]:
    """Return the read models for who asks what there is: topics, views and their columns.

    Nothing is chosen, as that changes rows, and neither topics nor views.
    """
    return tuple(projections(application))


def at_version(read_model: AnyDeclaration, chosen: Mapping[str, object]) -> AtVersion:
    """Return a read model as a function of its version."""
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
    projection = read_model.factory(version=version, **given)
    if read_model.name not in projection.views:
        raise InvalidApplicationError(
            f"read model {read_model.name!r} has no view of that name, by which all else finds "
            f"its rows: it has {', '.join(projection.views) or 'none'}; call one of them so, "
            "or the read model like one"
        )
    if read_model.settings:
        projection = replace(projection, settings=settings_text(read_model.factory, given))
    return cast(Projection, projection)
