"""Which read models there are."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from projections.engine.projection import Projection
from projections.outcome import outcome
from projections.us_holder import US_EXCHANGES, us_holder

FIRST = 1


def declared(
    us_exchanges: Collection[str] = US_EXCHANGES,
) -> Mapping[str, Callable[[int], Projection]]:
    """Return the read models of this distribution, as functions of their version.

    They are in the order in which a batch updates them.

    Args:
        us_exchanges: What counts as a US exchange.
    """
    return {"outcome": outcome, "us_holder": partial(us_holder, us_exchanges)}


def projections(
    us_exchanges: Collection[str] = US_EXCHANGES, live: Mapping[str, int] | None = None
) -> list[Projection]:
    """Return the read models at the versions that readers see.

    Args:
        us_exchanges: What counts as a US exchange.
        live: By name; one that is missing has its first version.
    """
    known = live or {}
    return [at(known.get(name, FIRST)) for name, at in declared(us_exchanges).items()]
