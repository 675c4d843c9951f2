"""A projection that somebody names on the command line."""

from compose.configuration.settings import Settings
from compose.errors import VerdictError
from projections.registry import AtVersion, declared


def declared_projection(settings: Settings, name: str) -> AtVersion:
    """Return what declares any version of a projection.

    Raises:
        VerdictError: There is none of that name.
    """
    known = declared(settings.us_exchanges)
    if name not in known:
        raise VerdictError(f"there is no projection {name!r}: there are {', '.join(known)}")
    return known[name]
