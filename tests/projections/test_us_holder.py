from dataclasses import dataclass

import pytest

from projections.us_holder import Position, us_holder
from schemas.position import (
    PositionAdjusted,
    PositionClosed,
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import SECOND, START, EventLog, opened
from tests.read_side.accidents import Shown
from verdict.model.message import Event, iso_time


def test_what_counts_as_a_us_exchange_is_a_setting() -> None:
    by_default, chosen = us_holder().by, us_holder(["LON"]).by

    for exchange in ("NASDAQ", "NYSE", "NYSE American", "NYSE Arca", "Cboe BZX", "IEX"):
        held = Position("ada", exchange, 0)
        assert (by_default(held), chosen(held)) == ("ada", None)
    assert chosen(Position("ada", "LON", 0)) == "ada"


@pytest.mark.proves("H-01")
def test_the_golden_positions(read_side: ReadSide, log: EventLog) -> None:
    for number, client, ticker, amount, exchange in [
        (1, "client1", "AAPL", 100, "NASDAQ"),
        (2, "client1", "VOD", 5, "LON"),
        (3, "client1", "FB", 33, "NASDAQ"),
        (4, "client2", "AAPL", 25, "NASDAQ"),
        (5, "client3", "VOD", 33, "LON"),
    ]:
        position = PositionOpened(client=client, ticker=ticker, amount=amount, exchange=exchange)
        log.add(f"position-{number}", position)

    read_side.applier("us_holder").apply(log.batch())

    assert read_side.select("SELECT * FROM us_holder ORDER BY client") == [
        ("client1", 2, iso_time(START + 1 * SECOND)),
        ("client2", 1, iso_time(START + 4 * SECOND)),
    ]
    assert read_side.changes() == [
        ("client1", "entered", "position-1"),
        ("client2", "entered", "position-4"),
    ]


@dataclass
class Story:
    """Batches onto `us_holder`, and what changed by each."""

    shown: Shown

    def happens(self, position_id: str, *events: Event) -> Rows:
        """Return the feed's new rows after one batch with these events."""
        seen = len(self.shown.read_side.changes())
        self.shown.after(position_id, *events)
        return self.shown.read_side.changes()[seen:]


@pytest.fixture
def story(read_side: ReadSide, log: EventLog) -> Story:
    return Story(Shown(read_side, log, "us_holder", "SELECT * FROM us_holder"))


OPENED, CLOSED = [opened("ada")], PositionClosed()
ABROAD, HOME = PositionRelisted(exchange="LON"), PositionRelisted(exchange="NYSE")
TO_BOB = PositionTransferred(client="bob")


@pytest.mark.proves("H-03", "H-04", "H-05")
@pytest.mark.parametrize(
    ("before", "event", "changes", "holders"),
    [
        (OPENED, CLOSED, [("ada", "left", "p-1")], {}),
        (OPENED, PositionAdjusted(amount=1), [], {"ada": 1}),
        (OPENED, ABROAD, [("ada", "left", "p-1")], {}),
        ([opened("ada", "LON")], HOME, [("ada", "entered", "p-1")], {"ada": 1}),
        (OPENED, HOME, [], {"ada": 1}),
        (OPENED, TO_BOB, [("ada", "left", "p-1"), ("bob", "entered", "p-1")], {"bob": 1}),
        ([opened("ada", "LON")], TO_BOB, [], {}),
        ([*OPENED, CLOSED], opened("bob"), [("bob", "entered", "p-1")], {"bob": 1}),
    ],
)
def test_what_each_event_changes(
    story: Story,
    read_side: ReadSide,
    before: list[Event],
    event: Event,
    changes: list[tuple[str, ...]],
    holders: dict[str, int],
) -> None:
    story.happens("p-1", *before)

    assert story.happens("p-1", event) == changes
    assert read_side.holders() == holders


@pytest.mark.proves("H-08")
def test_what_comes_and_goes_within_a_batch_is_not_announced(story: Story) -> None:
    there_and_back = PositionTransferred(client="bob"), PositionTransferred(client="ada")
    story.happens("p-1", opened("ada"))

    assert story.happens("p-1", *there_and_back) == []
    assert story.happens("p-2", opened("cleo"), PositionClosed()) == []


@pytest.mark.proves("H-08")
def test_the_cause_of_a_change_is_the_event_behind_it(story: Story, read_side: ReadSide) -> None:
    story.happens("p-1", opened("ada"))
    story.happens(
        "p-1",
        PositionAdjusted(amount=2),
        PositionTransferred(client="bob"),
        PositionTransferred(client="ada"),
        PositionTransferred(client="cleo"),
        PositionAdjusted(amount=3),
    )
    rows = read_side.select("SELECT seq, client, kind, at FROM us_holder_change ORDER BY seq")

    assert rows == [
        (1, "ada", "entered", iso_time(START + 1 * SECOND)),
        (2, "ada", "left", iso_time(START + 5 * SECOND)),
        (3, "cleo", "entered", iso_time(START + 5 * SECOND)),
    ]


def test_a_client_enters_by_the_first_position_and_leaves_by_the_last(
    read_side: ReadSide, log: EventLog
) -> None:
    applier = read_side.applier("us_holder")
    for events in ([opened("ada")], [PositionClosed()]):
        for position_id in ("p-3", "p-1", "p-2"):
            log.add(position_id, *events)
        applier.apply(log.batch())

    assert read_side.changes() == [("ada", "entered", "p-3"), ("ada", "left", "p-2")]


@pytest.mark.proves("H-06")
def test_a_client_with_positions_on_every_partition(read_side: ReadSide, log: EventLog) -> None:
    ids = [f"p-{number}" for number in range(40)]
    for position_id in ids:
        log.add(position_id, opened("ada"))
    assert {log.place_of(position_id) for position_id in ids} == set(log.partitions)
    applier = read_side.applier("us_holder")

    applier.apply(log.batch())
    for position_id in ids[:39]:
        log.add(position_id, PositionClosed())
    applier.apply(log.batch())

    assert read_side.holders() == {"ada": 1}
    assert len(read_side.changes()) == 1
