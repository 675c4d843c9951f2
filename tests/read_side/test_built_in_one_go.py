"""What is built from a whole log at once is what batch after batch makes, on both databases."""

from collections.abc import Iterator
from random import Random

import pytest

from schemas.enrolment import LoginRecorded, ParticipantDeactivated, ParticipantEnrolled
from schemas.order import OrderDeleted, OrderModified, OrderPlaced
from schemas.position import PositionClosed, PositionRelisted, PositionTransferred
from tests.application import APPLICATION
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from tests.read_side.second_version import compared, held_in_one_go
from tests.read_side.state_log import BAD, StateLog
from verdict.model.message import Event
from verdict.read_side.catalog import declared
from verdict.read_side.projections import row_projection
from verdict.read_side.projections.projection import Rebuildable
from verdict.read_side.projections.row_projection import RowBuilder

pytestmark = pytest.mark.both_databases

IDS = [f"a-{number}" for number in range(90)]


def positions(random: Random) -> Iterator[tuple[str, Event]]:
    for name in IDS:
        yield name, opened(random.choice(["ada", "bob", "cleo"]), random.choice(["IEX", "LON"]))
    for name in random.sample(IDS, 60):
        yield (
            name,
            random.choice(
                [
                    PositionClosed(),
                    PositionRelisted(exchange="NASDAQ"),
                    PositionTransferred(client="dora"),
                ]
            ),
        )


def orders(random: Random) -> Iterator[tuple[str, Event]]:
    for name in IDS:
        client = random.choice(["ada", "bob"])
        yield (
            name,
            OrderPlaced(client=client, ticker="AAPL", side="BUY", quantity=9, limit_price_cents=1),
        )
    for name in random.sample(IDS, 40):
        yield name, random.choice([OrderDeleted(), OrderModified(quantity=3, limit_price_cents=2)])


def both(random: Random) -> Iterator[tuple[str, Event]]:
    """Yield orders and positions with the same ids."""
    yield from orders(random)
    yield from positions(random)


def enrolments(random: Random) -> Iterator[tuple[str, Event]]:
    for name in IDS:
        yield name, ParticipantEnrolled(program=random.choice(["chess", "go"]))
    for name in random.sample(IDS, 40):
        login = LoginRecorded(at=1_795_262_400_000 + random.randrange(1000))
        yield name, random.choice([ParticipantDeactivated(), login])


@pytest.mark.proves("H-09")
@pytest.mark.parametrize(
    ("projection", "aggregate_types", "happenings"),
    [
        ("us_holder", ["position"], positions),
        ("client_recent_order", ["order"], orders),
        ("program_tally", ["enrolment"], enrolments),
        ("client_overview", ["order", "position"], both),
        ("order_state", ["order"], orders),
    ],
)
def test_rows_and_groups_are_those_that_batches_make(
    read_side: ReadSide,
    projection: str,
    aggregate_types: list[str],
    happenings: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert callable(happenings)
    monkeypatch.setattr(row_projection, "HISTORIES", 7)  # so that there are several times as many
    log, applier = EventLog(4, *aggregate_types), read_side.applier(projection)
    for number, (name, event) in enumerate(happenings(Random(7))):
        log.add(name, event)
        if number % 50 == 0:
            applier.apply(log.batch())
    applier.apply(log.batch())

    found = compared(read_side, projection, log.deliveries)

    assert [one.live.rows for one in found if one.live.rows == 0] == []
    assert all(one.equal for one in found)


def test_an_aggregate_with_a_gap_is_built_up_to_it_and_the_gap_is_reported(log: EventLog) -> None:
    log.add("a", opened("ada"))
    log.add_unseen("a", PositionRelisted(exchange="LON"))
    log.add("a", PositionClosed())
    log.add_unseen("b", opened("bob"))
    log.add("b", PositionClosed())

    holders = _builder("us_holder")
    found = [*holders(sorted(log.deliveries, key=lambda d: d.partition))]

    told = {one.gap.aggregate_id: one for one in found if one.gap is not None}
    assert told["a"].values is not None
    ada = dict(zip(holders.columns, told["a"].values, strict=True))
    assert (ada["version"], ada["client"]) == (1, "ada")
    assert told["b"].values is None
    assert {
        (gap.version_needed, gap.version_seen) for gap in (told[n].gap for n in "ab") if gap
    } == {(2, 3), (1, 2)}


@pytest.mark.proves("H-02")
def test_states_with_unreadable_ones_are_built_as_batches_apply_them(
    read_side: ReadSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_projection, "HISTORIES", 7)
    name, random = "us_holder_from_state", Random(7)
    log, applier = StateLog(), read_side.applier(name)
    for number, key in enumerate(random.choices(IDS, k=400)):
        state = random.choice(["ada", "bob"]), random.choice(["IEX", "LON"])
        log.put(key, random.choice([state, state, BAD, None]))
        if number % 50 == 0:
            applier.apply(log.batch())
    applier.apply(log.batch())

    found = compared(read_side, name, log.deliveries)
    held = read_side.select(
        "SELECT aggregate_type, aggregate_id, version_needed, version_seen, error "
        "FROM projection_blocked ORDER BY aggregate_id"
    )

    assert all(one.equal and one.live.rows for one in found)
    assert held_in_one_go(name, log.deliveries) == held != []


def _builder(name: str) -> RowBuilder[tuple[object, ...]]:
    projection = declared(APPLICATION)[name](1)
    assert isinstance(projection, Rebuildable)
    assert isinstance(projection.builder, RowBuilder)
    return projection.builder
