"""`us_holder`: one row per client who holds at least one position on a US exchange."""

from collections.abc import Collection
from typing import NamedTuple, assert_never, cast

from sqlalchemy import BigInteger, Column, Index, MetaData, Table, Text, func, select

from projections.us_exchanges import US_EXCHANGES, settings_with
from schemas.position import (
    PositionAdjusted,
    PositionClosed,
    PositionEvent,
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from verdict import (
    ChangeFeed,
    CountedGroups,
    InstantType,
    Membership,
    RecordedEvent,
    RowProjection,
    described,
    feed_table,
    feed_view,
    row_table,
    version_view,
)

FEED = ("client", "position_id")  # who enters and leaves, and by which member of the group


class OpenPosition(NamedTuple):
    """What decides who is a holder."""

    client: str
    exchange: str
    opened_at: int


def evolve(position: OpenPosition | None, recorded: RecordedEvent) -> OpenPosition | None:
    """Return the position after an event, None once it is closed."""
    event = cast(PositionEvent, recorded.payload)
    if isinstance(event, PositionOpened):
        return OpenPosition(event.client, event.exchange, opened_at=recorded.decided_at)
    assert position is not None, "the position is not open"
    match event:
        case PositionAdjusted():
            return position
        case PositionRelisted(exchange=exchange):
            return position._replace(exchange=exchange)
        case PositionTransferred(client=client):
            return position._replace(client=client)
        case PositionClosed():
            return None
        case _:
            assert_never(event)


def us_holder(
    us_exchanges: Collection[str] = US_EXCHANGES, version: int = 1
) -> RowProjection[OpenPosition]:
    """Return the projection; `since` is the earliest opening among the positions held now.

    Args:
        us_exchanges: What counts as one, spelled as in the events.
        version: Of the tables; the feed is the same for all.
    """

    def holder(position: OpenPosition) -> str | None:
        return position.client if position.exchange in us_exchanges else None

    metadata = MetaData()
    positions = row_table(
        f"us_holder_position_v{version}",
        metadata,
        Column("client", Text),
        Column("exchange", Text),
        Column("opened_at", InstantType),
    )
    Index(f"{positions.name}_held", positions.c.group_key, positions.c.opened_at)
    holders = Table(
        f"us_holder_v{version}",
        metadata,
        Column("client", Text, primary_key=True),
        Column("positions", BigInteger, nullable=False),
        Column("since", InstantType, nullable=False),
    )
    changes = feed_table("us_holder_change_v1", metadata, *FEED)
    return RowProjection(
        name="us_holder",
        version=version,
        aggregate_types=("position",),
        row=OpenPosition,
        table=positions,
        evolve=evolve,
        group=holder,
        shows=Membership(
            groups=CountedGroups(
                table=holders,
                members=positions,
                counts=("positions",),
                reads={"since": func.min(positions.c.opened_at)},
            ),
            feed=ChangeFeed(changes, *FEED),
        ),
        views={
            "us_holder": described(
                select(holders),
                "Clients who hold at least one position on a US exchange now.",
                client="The client.",
                positions="How many such positions the client holds.",
                since="When the earliest of them was opened.",
            ),
            "us_holder_change": feed_view(
                changes, "Who became a holder of US positions, and who ceased to be one.", *FEED
            ),
            **version_view("us_holder", "position", positions),
        },
        sequences=(changes.name,),
        settings=settings_with(us_exchanges),
    )
