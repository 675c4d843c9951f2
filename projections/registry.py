"""Which read models there are."""

from collections.abc import Collection

from projections.client_recent_order import client_recent_order
from projections.engine.projection import Projection
from projections.event_archive import event_archive
from projections.outcome import outcome
from projections.program_tally import program_tally
from projections.us_holder import US_EXCHANGES, us_holder
from projections.us_holder_from_state import us_holder_from_state


def projections(us_exchanges: Collection[str] = US_EXCHANGES) -> list[Projection]:
    """Return the read models of this distribution, in the order in which a batch updates them.

    Args:
        us_exchanges: What counts as a US exchange.
    """
    return [
        event_archive(),
        outcome(),
        us_holder(us_exchanges),
        us_holder_from_state(us_exchanges),
        client_recent_order(),
        program_tally(),
    ]
