"""Chapter: what else the same events tell: the newest orders, the feed, the archive."""

from collections.abc import Iterable, Iterator
from typing import Any

from compose.demo.load import records
from compose.demo.newest import NewestOrders
from compose.demo.story import Story
from verdict import current
from verdict.wire.records import decode_event

SHOWN = 5

ORDERS = """\
SELECT client, place, order_id, quantity, filled_quantity, status
FROM client_recent_order ORDER BY client, place"""

BUSIEST = """\
SELECT client FROM client_recent_order GROUP BY client ORDER BY count(*) DESC, client LIMIT 1"""

FEED = "SELECT seq, client, kind, position_id, at FROM us_holder_change ORDER BY seq"

ARCHIVE = "SELECT count(*), max(global_position) FROM event_archive"


def tell(story: Story) -> None:
    """Show three views, and compare each with what the topics hold."""
    story.voice.begin(
        "What else do the events tell?",
        "Views over the same events: the newest 30 orders of a client, a numbered feed of who "
        "became a holder of US stock and who ceased to be one, and an archive of every event.",
    )
    _orders(story)
    _feed(story)
    _archive(story)


def _orders(story: Story) -> None:
    topic, newest = story.topics.events("order"), NewestOrders()
    for message in records(story, [topic]):
        newest.take(decode_event("order", message.value() or b""))
    answer = story.select(ORDERS)
    found = list(answer.rows)
    [(busiest,)] = story.select(BUSIEST).rows
    story.voice.show(
        answer.columns,
        [row for row in found if row[0] == busiest][:SHOWN],
        numbers=("place", "quantity", "filled_quantity"),
    )
    clients = len({row[0] for row in found})
    story.voice.expect(
        f"the newest orders of {clients:,} clients: the view and a fold of order.events agree",
        [],
        different(newest.rows(), found)[:SHOWN],
    )
    story.voice.say("")


def different(wanted: Iterable[tuple[Any, ...]], found: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return the rows that are in one of the two only."""
    return sorted({*wanted} ^ {*found})


def _feed(story: Story) -> None:
    answer = story.select(FEED)
    changes = list(answer.rows)
    story.voice.show(answer.columns, changes[-SHOWN:], numbers=("seq",))
    story.voice.expect(
        f"{len(changes):,} changes are numbered without a gap",
        list(range(1, len(changes) + 1)),
        [seq for seq, *_ in changes],
    )
    holders = {client for (client,) in story.select("SELECT client FROM us_holder").rows}
    story.voice.expect(
        f"replayed they give the {len(holders):,} clients who hold US stock",
        holders,
        set(replayed((client, kind) for _, client, kind, *_ in changes)),
    )
    story.voice.say("")


def replayed(changes: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield who is in after all changes, each a client and `entered` or `left`."""
    last = dict(changes)
    yield from (client for client, kind in last.items() if kind == "entered")


def _archive(story: Story) -> None:
    topics = [story.topics.events(name) for name in current().aggregate_types]
    there = sum(1 for _ in records(story, topics))
    [(kept, last)] = story.select(ARCHIVE).rows
    story.voice.expect(
        f"{kept:,} events are in the archive, at the positions 1 to {last:,}",
        (there, there),
        (kept, last),
    )
