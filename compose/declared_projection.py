"""A projection that somebody names on the command line."""

from compose.configuration.settings import Settings
from compose.errors import VerdictError
from projections.registry import FIRST, AtVersion, declared


def declared_projection(settings: Settings, name: str) -> AtVersion:
    """Return what declares any version of a projection.

    Raises:
        VerdictError: There is none of that name.
    """
    known = declared(settings.us_exchanges)
    if name not in known:
        raise VerdictError(f"there is no projection {name!r}: there are {', '.join(known)}")
    return known[name]


def see_that_it_shows(settings: Settings, name: str, aggregate_type: str) -> None:
    """Return when a projection keeps a row for each aggregate of a type.

    Raises:
        VerdictError: There is no such projection, or it does not.
    """
    followed = {
        one: getattr(at(FIRST), "aggregate_type", None)
        for one, at in declared(settings.us_exchanges).items()
    }
    declared_projection(settings, name)
    if followed[name] != aggregate_type:
        those = [one for one, kind in followed.items() if kind == aggregate_type]
        raise VerdictError(
            f"{name} keeps no row for each {aggregate_type}, so there is nothing to wait for: "
            f"{', '.join(those) or 'no projection'} does"
        )
