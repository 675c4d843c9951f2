"""A projection that somebody names on the command line."""

from collections.abc import Iterable, Mapping

from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.read_side.catalog import FIRST, AtVersion, declared
from verdict.settings.settings import Settings


class UnknownProjectionError(VerdictError):
    """There is no projection of that name."""

    exit_code = 2

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"there is no projection {name!r}: there are {', '.join(known)}")


def projection_by_name(settings: Settings, name: str) -> AtVersion:
    """Return what declares any version of a projection.

    Raises:
        UnknownProjectionError: There is none of that name.
    """
    known = declared(settings.application, settings.chosen)
    if name not in known:
        raise UnknownProjectionError(name, known)
    return known[name]


def row_per_aggregate(application: Application) -> Mapping[str, tuple[str, ...]]:
    """Return projection → the aggregate types of which it keeps a row for each aggregate."""
    every = declared(application).items()
    return {name: getattr(at(FIRST), "aggregate_types", ()) for name, at in every}
