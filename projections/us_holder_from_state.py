"""`us_holder_from_state`: who holds US stock, from the compacted topic `share-holders`.

When a position was opened is not in the topic, once it has been compacted: so there is no `since`.
"""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import BigInteger, Column, Index, MetaData, Table, Text, select

from projections.us_exchanges import US_EXCHANGES, settings_with
from schemas.share_holding import ShareHolding, share_holders
from verdict import CountedGroups, StateProjection, Tally, described, row_table


class Holding(NamedTuple):
    """What decides who is a holder."""

    client: str
    exchange: str


def shown(holding: ShareHolding) -> Holding:
    """Return what is kept of a position; it is remembered until the record that closes it."""
    return Holding(holding.client, holding.exchange)


def us_holder_from_state(
    us_exchanges: Collection[str] = US_EXCHANGES, version: int = 1
) -> StateProjection[Holding]:
    """Return the projection.

    Args:
        us_exchanges: What counts as one, spelled as in the records.
        version: Of the tables.
    """

    def holder(holding: Holding) -> str | None:
        return holding.client if holding.exchange in us_exchanges else None

    metadata = MetaData()
    holdings = row_table(
        f"us_holder_from_state_position_v{version}",
        metadata,
        Column("client", Text),
        Column("exchange", Text),
    )
    Index(f"{holdings.name}_held", holdings.c.group_key)
    holders = Table(
        f"us_holder_from_state_v{version}",
        metadata,
        Column("client", Text, primary_key=True),
        Column("positions", BigInteger, nullable=False),
    )
    return StateProjection(
        name="us_holder_from_state",
        version=version,
        row=Holding,
        table=holdings,
        follows=share_holders.topic,
        shown=shown,
        group=holder,
        shows=Tally(
            groups=CountedGroups(table=holders, members=holdings, counts=("positions",), reads={}),
            counts={"positions": None},
        ),
        views={
            "us_holder_from_state": described(
                select(holders),
                "Clients who hold US positions, as the topic share-holders says.",
                client="The client.",
                positions="How many such positions the client holds.",
            )
        },
        settings=settings_with(us_exchanges),
    )
