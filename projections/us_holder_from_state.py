"""`us_holder_from_state`: who holds US stock, from the compacted topic `share-holders`.

When a position was opened is not in the topic, once it has been compacted: so there is no `since`.
"""

from collections.abc import Collection
from typing import NamedTuple

from projections.us_exchanges import US_EXCHANGES
from schemas.share_holding import ShareHolding, share_holders
from verdict.projections import Groups, count, key, projection


class Holding(NamedTuple):
    """What decides who is a holder."""

    client: str
    exchange: str


def evolve(_: Holding | None, state: ShareHolding) -> Holding:
    return Holding(state.client, state.exchange)


@projection(of=share_holders)
def us_holder_from_state(us_exchanges: Collection[str] = US_EXCHANGES) -> Groups[Holding]:
    """Clients who hold US positions, as the topic share-holders says."""
    return Groups(
        Holding,
        evolve,
        by=lambda row: row.client if row.exchange in us_exchanges else None,
        columns={
            "client": key("The client."),
            "positions": count("How many such positions the client holds."),
        },
    )
