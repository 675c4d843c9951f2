"""`us_holder`: who holds at least one position on a US exchange; `since` is of those held now."""

from collections.abc import Collection
from typing import NamedTuple, assert_never

from projections.us_exchanges import US_EXCHANGES
from schemas import position as p
from verdict import Instant, RecordedEvent
from verdict.projections import Groups, count, key, minimum, projection, there


class Position(NamedTuple):
    """What decides who is a holder."""

    client: str
    exchange: str
    opened_at: Instant


def evolve(row: Position | None, recorded: RecordedEvent[p.PositionEvent]) -> Position | None:
    match recorded.payload:
        case p.PositionOpened(client=client, exchange=exchange):
            return Position(client, exchange, recorded.decided_at)
        case p.PositionRelisted(exchange=exchange):
            return there(row)._replace(exchange=exchange)
        case p.PositionTransferred(client=client):
            return there(row)._replace(client=client)
        case p.PositionAdjusted():
            return there(row)
        case p.PositionClosed():
            there(row)
            return None
        case never:
            assert_never(never)


@projection(of="position")
def us_holder(us_exchanges: Collection[str] = US_EXCHANGES) -> Groups[Position]:
    """Clients who hold at least one position on a US exchange now."""
    return Groups(
        Position,
        evolve,
        by=lambda row: row.client if row.exchange in us_exchanges else None,
        columns={
            "client": key("The client."),
            "positions": count("How many such positions the client holds."),
            "since": minimum("opened_at", "When the earliest of them was opened."),
        },
        feed="Who became a holder of US positions, and who ceased to be one.",
    )
