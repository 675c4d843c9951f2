"""C-17: an aggregate of which nobody can tell what it is counts as deleted in every read model."""

from collections.abc import Callable
from random import Random
from typing import cast

import pytest
from sqlalchemy import create_engine, select

from projections.us_holder import us_holder
from schemas.enrolment import LoginRecorded, ParticipantDeactivated, ParticipantEnrolled
from schemas.order import OrderFilled, OrderModified, OrderPlaced
from schemas.position import PositionClosed, PositionRelisted
from tests.application import APPLICATION
from tests.projection.beside import compared
from tests.projection.event_log import START, EventLog, opened
from tests.projection.read_side import ReadSide
from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.projection import creation, holding, lost
from verdict.projection.applier import Applier
from verdict.projection.batch import NOTHING, Delivery
from verdict.projection.comparison import content
from verdict.projection.declared import declared
from verdict.projection.kind_tables import compile_projection
from verdict.projection.row_projection import RowProjection
from verdict.projection.stand_in import AsIfDeleted
from verdict.read_models.as_of.filling import Records, fold
from verdict.wire.decision import Decision, Lost
from verdict.wire.topics import Topics

pytestmark = [pytest.mark.both_databases, pytest.mark.proves("C-17")]

NAMES = [f"a-{number}" for number in range(12)]
BIRTHS: dict[str, tuple[str, Callable[[Random], Event]]] = {
    "us_holder": ("position", lambda random: opened(random.choice(["ada", "bob"]))),
    "order_state": ("order", lambda random: placed(random.choice(["ada", "bob"]))),
    "client_recent_order": ("order", lambda random: placed(random.choice(["ada", "bob"]))),
    "client_overview": ("order", lambda random: placed(random.choice(["ada", "bob"]))),
    "program_tally": (
        "enrolment",
        lambda random: ParticipantEnrolled(program=random.choice(["chess", "go"])),
    ),
}
LIVES: dict[str, list[Event]] = {
    "position": [PositionRelisted(exchange="LON"), PositionRelisted(exchange="IEX")],
    "order": [
        OrderModified(quantity=3, limit_price_cents=2),
        OrderFilled(quantity=1, price_cents=1),
    ],
    "enrolment": [LoginRecorded(at=START), ParticipantDeactivated()],
}


def placed(client: str) -> OrderPlaced:
    return OrderPlaced(client=client, ticker="AAPL", side="BUY", quantity=900, limit_price_cents=1)


class Losing:
    """A log of which a recovery goes on without the last events of some aggregates, at times.

    Args:
        projection: Whose aggregates.
        seed: Of what happens.
    """

    def __init__(self, projection: str, seed: int) -> None:
        self._random = Random(seed)
        self.aggregate_type, self._born = BIRTHS[projection]
        self.log = EventLog(2, self.aggregate_type)
        self.alive: set[str] = set()
        self.versions: dict[str, int] = {}
        self.decisions: list[Decision] = []

    def happens(self) -> None:
        """Let one aggregate begin or go on."""
        name = self._random.choice(NAMES)
        event = self._random.choice(LIVES[self.aggregate_type])
        if name not in self.alive:
            event = self._born(self._random)
            self.alive.add(name)
        self.versions[name] = self.versions.get(name, 0) + 1
        self.log.add(name, event)

    def lose(self, name: str, events: int) -> None:
        """Lose so many last events of an aggregate before anybody reads them; it is accepted."""
        if name not in self.alive:
            return
        for event in LIVES[self.aggregate_type][:events]:
            self.log.add_unseen(name, event)
        self.versions[name] += events
        self.alive.discard(name)
        self.decided(name, self.versions[name])

    def decided(self, name: str, version: int) -> None:
        topic, partition = self.log.place_of(name)
        end = self.log.ends[self.log.place_of(name)]
        self.decisions.append(
            Decision(
                source=Source(topic, partition, end),
                until=end,
                who="ada",
                why="the disk is gone",
                decided_at=START,
                lost=Lost(self.aggregate_type, name, version),
            )
        )

    def copy(self, read_side: ReadSide) -> None:
        with read_side.engine.begin() as connection:
            lost.copy(connection, self.decisions)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("projection", BIRTHS)
def test_live_built_again_and_batch_by_batch_it_is_as_if_deleted(
    read_side: ReadSide, projection: str, seed: int
) -> None:
    """Whether its last events were seen or not, and whether it begins anew or not."""
    random, made = Random(seed), Losing(projection, seed)
    made.log.pass_over(made.log.partitions[0])
    for _ in range(6):
        happened(read_side, projection, made, random)
        applier = read_side.applier(projection)  # a recovery is followed by a start
        if random.random() < 0.5:
            applier.apply(NOTHING)
            assert not applier.must_lose
    applier.apply(made.log.batch())
    applier.apply(NOTHING)

    assert not applier.is_stopped
    assert read_side.select("SELECT * FROM projection_held") == []
    live = read_side.projections[projection]
    assert isinstance(live, RowProjection)
    found = kept(read_side, live)
    assert {name: version for name, (version, _) in found.items()} == made.versions
    gone = {name for name in made.versions if name not in made.alive}
    assert gone
    assert not any(present for name, (_, present) in found.items() if name in gone)
    assert all(one.equal for one in compared(read_side, projection, made.log.deliveries))
    assert from_the_beginning(projection, made, random) == contents(read_side, live)


def happened(read_side: ReadSide, projection: str, made: Losing, random: Random) -> None:
    """Let aggregates live, and be followed in batches of any cut; then lose some of them."""
    applier, archive = read_side.applier(projection), read_side.applier("event_archive")
    for _ in range(random.randrange(1, 12)):
        made.happens()
        if random.random() < 0.2:
            archive.apply(batch := made.log.batch())
            applier.apply(batch)
    archive.apply(batch := made.log.batch())
    applier.apply(batch)
    for name in random.sample(NAMES, 4):
        made.lose(name, random.randrange(3))
    made.copy(read_side)


def kept(
    read_side: ReadSide, projection: RowProjection[tuple[object, ...]]
) -> dict[str, tuple[int, bool]]:
    """Return of each aggregate its version, and whether it has a row."""
    columns = projection.table.c
    asked = select(columns.aggregate_id, columns.version, columns.present)
    with read_side.engine.connect() as connection:
        rows = connection.execute(asked)
        return {name: (version, present) for name, version, present in rows}


def from_the_beginning(projection: str, made: Losing, random: Random) -> list[object]:
    """Return what the tables hold where somebody follows the whole log, in batches of any cut."""
    engine, version = create_engine("sqlite://"), declared(APPLICATION)[projection](2)
    with engine.begin() as connection:
        creation.create(connection, [version])
        lost.copy(connection, made.decisions)
    applier = Applier(engine, version, Topics(APPLICATION), live=False)
    left = dict.fromkeys(made.log.partitions, 0)
    while any(left[place] < made.log.ends[place] for place in left):
        ends = {
            place: min(made.log.ends[place], at + random.randrange(5)) for place, at in left.items()
        }
        applier.apply(made.log.between(left, ends))
        left = ends
    applier.apply(NOTHING)
    with engine.connect() as connection:
        return [content(connection, table) for table in version.tables]


def contents(read_side: ReadSide, projection: RowProjection[tuple[object, ...]]) -> list[object]:
    with read_side.engine.connect() as connection:
        return [content(connection, table) for table in projection.tables]


def test_who_did_not_know_of_it_holds_what_comes_next_until_the_next_start(
    read_side: ReadSide,
) -> None:
    made = Losing("us_holder", 1)
    made.log.add("a-1", opened("ada"))
    made.log.add_unseen("a-1", PositionClosed())
    made.decided("a-1", 2)
    made.log.add("a-1", opened("bob"), PositionRelisted(exchange="IEX"))
    read_side.applier("event_archive").apply(made.log.everything())
    read_side.applier("us_holder").apply(made.log.everything())
    held = read_side.select("SELECT version_needed, version_seen FROM projection_held")
    assert (held, read_side.holders()) == ([(2, 4)], {"ada": 1})

    made.copy(read_side)
    applier = read_side.applier("us_holder")
    applier.apply(NOTHING)
    assert read_side.holders() == {}
    applier.apply(NOTHING)

    assert read_side.select("SELECT * FROM projection_held") == []
    assert read_side.holders() == {"bob": 1}


def test_what_was_decided_is_shown_and_copied_once(read_side: ReadSide) -> None:
    made = Losing("us_holder", 1)
    made.log.add("a-1", opened("ada"))
    made.decided("a-1", 2)
    made.copy(read_side)
    made.copy(read_side)

    shown = "aggregate_type, aggregate_id, version, topic, who, why"
    assert read_side.select(f"SELECT {shown} FROM aggregate_lost") == [
        ("position", "a-1", 2, "position.events", "ada", "the disk is gone")
    ]
    with read_side.engine.connect() as connection:
        assert lost.decisions(connection) == made.decisions


@pytest.mark.parametrize("markers", [0, 1], ids=["no marker behind the events", "a marker"])
@pytest.mark.parametrize("millis", [START - 1, START])
def test_as_of_a_time_it_is_so_once_that_was_decided_and_behind_a_hole_before(
    read_side: ReadSide, millis: int, markers: int
) -> None:
    """Of a-1 the last event is lost, of a-2 one in the middle: nobody can tell that one before."""
    made, engine = Losing("us_holder", 1), create_engine("sqlite://")
    made.log.add("a-1", opened("ada"))
    made.log.add("a-2", opened("bob"))
    made.log.add_unseen("a-2", PositionRelisted(exchange="LON"))
    made.log.add("a-2", PositionRelisted(exchange="IEX"))
    ends = dict(made.log.ends)
    for _ in range(markers):
        for place in made.log.partitions:
            made.log.pass_over(place)
    made.decided("a-1", 2)
    made.decided("a-2", 3)
    made.copy(read_side)
    holders = {"ada": 1} if millis < START else {}

    class Said:
        topics = Topics(APPLICATION)
        before = staticmethod(lambda ends: iter(made.log.deliveries))
        in_force = Records.in_force
        archive = staticmethod(read_side.reader)
        lost = Records.lost

    def wanted(delivery: Delivery) -> bool:
        event = delivery.record
        assert isinstance(event, RecordedEvent)
        return event.payload.__class__ is not AsIfDeleted or event.decided_at <= millis

    fold(engine, compile_projection(us_holder), cast(Records, Said()), ends, wanted, millis)

    with engine.connect() as connection:
        assert holding.load(connection, compile_projection(us_holder)) == {}
        found = connection.exec_driver_sql("SELECT client, positions FROM us_holder").all()
    assert dict(map(tuple, found)) == holders


def test_what_had_come_behind_a_gap_is_overtaken(read_side: ReadSide) -> None:
    """Version 1 never came, so version 2 waited; both are lost with version 3."""
    made = Losing("us_holder", 1)
    made.log.add_unseen("a-1", opened("ada"))
    made.log.add("a-1", PositionRelisted(exchange="IEX"))
    made.log.add_unseen("a-1", PositionClosed())
    made.decided("a-1", 3)
    made.log.add("a-1", opened("bob"))
    made.copy(read_side)

    applied = read_side.applier("us_holder").apply(made.log.everything())

    assert (applied.gaps, applied.reached) == ([], {("position", "a-1"): 4})
    assert read_side.holders() == {"bob": 1}
    assert all(one.equal for one in compared(read_side, "us_holder", made.log.deliveries))
