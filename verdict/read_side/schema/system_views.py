"""The views of the engine, and all views that readers may select from."""

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, select, union_all

from verdict.adapters.sql.readers.reader import Access, role_of
from verdict.read_side.catalog import first_versions
from verdict.read_side.projections.documented_view import DocumentedView, View, described
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables import (
    blocked,
    dead_letters,
    interventions,
    outbox,
    position,
    skips,
    source_topics,
    verification,
    versions,
)
from verdict.read_side.tables.row_states import VersionState
from verdict.settings.settings import Settings


def _shown(
    columns: Iterable[Column[Any]], about: str, where: ColumnElement[bool] | None = None
) -> DocumentedView:
    """Return a view of columns of tables, which have comments."""
    selected = select(*columns)
    return described(selected if where is None else selected.where(where), about)


def _of_versions(*names: str) -> list[Column[Any]]:
    return [versions.table.c[name] for name in names]


_live = versions.table.c
_kept = versions.table.alias("kept").c
_is_kept = (_kept.projection == _live.projection) & (_kept.state == VersionState.PREVIOUS)

SYSTEM_VIEWS: Mapping[str, View] = {
    **verification.VIEWS,
    **outbox.VIEWS,
    "projection_position": _shown(
        position.table.c,
        "How far each version of a projection has come in each partition that it follows.",
    ),
    "projection_topic": _shown(
        source_topics.followed.c, "The topics that each projection follows."
    ),
    "source_topic": _shown(
        source_topics.table.c,
        "The topics, by Kafka's own ids, from which the read side was filled.",
    ),
    "projection_blocked": described(
        union_all(select(blocked.table), skips.blocked_by_quarantine()),
        "Aggregates that wait in a projection: an event is missing or cannot be applied, or the "
        "aggregate is quarantined.",
    ),
    "projection_version": _shown(
        _of_versions("projection", "version", "state", "settings", "error", "stopped_at"),
        "What state each version of a projection is in.",
    ),
    "projection_stopped": _shown(
        (one for one in versions.table.c if one.name not in ("state", "settings", "build")),
        "Projections that are stopped, and why.",
        _live.error.is_not(None),
    ),
    "projection_live": described(
        select(_live.projection, _live.version, _kept.version.label("previous"))
        .outerjoin(_kept.version.table, _is_kept)
        .where(_live.state == VersionState.LIVE),
        "The version of each projection that readers see.",
        projection="Name of the projection.",
        version="The version that they see.",
        previous="The version that they saw before, which is kept to go back to.",
    ),
    "dead_letter": _shown(
        dead_letters.table.c,
        "Dead letters: what could not be handled, and waits for a next try or for a person.",
    ),
    "dead_letter_intervention": _shown(
        dead_letters.intervention.c, "What operators did about dead letters; nothing removes it."
    ),
    "projection_intervention": _shown(
        interventions.table.c,
        "What operators decided about events that a projection could not apply; nothing removes "
        "it.",
    ),
    "skipped_record": _shown(skips.table.c, "What operators decided about records and topics."),
    "aggregate_quarantined": _shown(
        (one for one in skips.quarantined.c if one.name != "last_version"),
        "Aggregates whose history is damaged now; their commands are rejected.",
    ),
}


def views_of(projections: Sequence[Projection]) -> Mapping[str, View]:
    """Return all views that readers may select from, by their names, sorted."""
    shown = [projection.views for projection in projections]
    return dict(sorted(ChainMap(*map(dict, (*shown, SYSTEM_VIEWS))).items()))


def readable(projections: Sequence[Projection]) -> list[str]:
    return [*views_of(projections)]


def views_for(settings: Settings, sees: Access) -> Mapping[str, View]:
    """Return the views that a role may select from, by their names, sorted."""
    every, role = views_of(first_versions(settings.application)), role_of(settings, sees)
    return {name: every[name] for name in settings.roles.open_to(role, [*every])}
