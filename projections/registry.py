"""Which read models there are."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from projections.client_recent_order import client_recent_order
from projections.program_tally import program_tally
from projections.us_holder import US_EXCHANGES, us_holder
from projections.us_holder_from_state import us_holder_from_state
from verdict.projection.event_archive import event_archive
from verdict.projection.outcome import outcome
from verdict.projection.projection import Projection

FIRST = 1

AtVersion = Callable[[int], Projection]

# what tells the rows of the view that has a read model's name apart
KEYS: Mapping[str, tuple[str, ...]] = {
    "event_archive": ("global_position",),
    "outcome": ("topic", "partition", "offset"),
    "us_holder": ("client",),
    "us_holder_from_state": ("client",),
    "client_recent_order": ("client", "place"),
    "program_tally": ("program",),
}


def declared(
    us_exchanges: Collection[str] = US_EXCHANGES,
) -> Mapping[str, AtVersion]:
    """Return the read models of this distribution, as functions of their version.

    They are in the order in which a batch updates them.

    Args:
        us_exchanges: What counts as a US exchange.
    """
    return {
        "event_archive": event_archive,
        "outcome": outcome,
        "us_holder": partial(us_holder, us_exchanges),
        "us_holder_from_state": partial(us_holder_from_state, us_exchanges),
        "client_recent_order": client_recent_order,
        "program_tally": program_tally,
    }


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
