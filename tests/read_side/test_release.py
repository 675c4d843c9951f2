"""What came behind a gap is applied as soon as the missing event has come, from the archive."""

import logging

import pytest

from projections.us_holder import us_holder
from schemas.position import PositionAdjusted, PositionTransferred
from tests.application import APPLICATION
from tests.kit.databases import NOW, ReadSide, Rows
from tests.kit.log import EventLog, opened
from tests.read_side.holding import Followed
from verdict.errors import VerdictError
from verdict.model.message import Event, iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.repair.blocked_aggregates import BlockedAggregates
from verdict.operations.repair.operator import OperatorIdentity
from verdict.read_side.apply import missing_events as releasing
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.schema import creation
from verdict.wire.topics import Topics

HELD = """SELECT aggregate_id, version_needed, version_seen, found_at
    FROM projection_blocked WHERE projection = 'us_holder' ORDER BY aggregate_id"""


class Gaps(Followed):
    """A service that events are missing for."""

    def gap(self, aggregate_id: str, *behind: Event) -> RecordedEvent:
        """Let an event be missing before those `behind` it, and return it."""
        self.log.add(aggregate_id, opened("ada"))
        missing = self.log.add_unseen(aggregate_id, PositionTransferred(client="bob"))
        self.log.add(aggregate_id, *behind)
        self.batch()
        return missing

    def held(self) -> Rows:
        """Return what `us_holder` holds."""
        return self.read_side.select(HELD)

    def version(self, aggregate_id: str) -> int:
        """Return the version that `us_holder` shows."""
        of_one = f"SELECT version FROM us_holder_version WHERE aggregate_id = '{aggregate_id}'"
        ((version,),) = self.read_side.select(of_one)
        return int(version)


@pytest.fixture
def followed(read_side: ReadSide, log: EventLog) -> Gaps:
    return Gaps(read_side, log)


@pytest.mark.proves("A-05")
def test_what_came_behind_a_gap_is_applied_with_the_missing_event(followed: Gaps) -> None:
    transferred = PositionTransferred(client="cleo")
    missing = followed.gap("p-1", PositionAdjusted(amount=2), transferred)
    assert followed.read_side.holders() == {"ada": 1}

    followed.log.repeat(missing)
    followed.batch()

    assert followed.held() == []
    assert followed.version("p-1") == 4
    assert followed.read_side.holders() == {"cleo": 1}
    assert followed.read_side.changes() == [
        ("ada", "entered", "p-1"),
        ("ada", "left", "p-1"),
        ("cleo", "entered", "p-1"),
    ]


@pytest.mark.proves("A-05")
def test_an_aggregate_whose_event_never_comes_is_held_and_reported_once_while_others_go_on(
    followed: Gaps, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    followed.gap("p-1", PositionAdjusted(amount=2))
    for number in range(3):
        followed.log.add(f"p-other-{number}", opened("bob"))
        followed.log.add("p-1", PositionAdjusted(amount=3 + number))
        followed.batch()

    assert followed.held() == [("p-1", 2, 6, iso_time(NOW))]
    assert followed.read_side.holders() == {"ada": 1, "bob": 3}
    assert caplog.messages == [
        "projection us_holder v1 blocks position p-1 at version 2: it is missing, and version 3 "
        "has come; the others continue"
    ]


def test_a_batch_without_a_record_of_it_releases_too(followed: Gaps) -> None:
    followed.log.add("p-1", opened("ada"))
    missing = followed.log.add_unseen("p-1", PositionTransferred(client="bob"))
    followed.log.add("p-1", PositionTransferred(client="cleo"))
    followed.holder.apply(followed.log.batch())
    followed.log.repeat(missing)
    followed.holder.apply(followed.log.batch())  # the archive is behind
    assert followed.held() == [("p-1", 3, 3, iso_time(NOW))]

    followed.archive.apply(followed.log.everything())
    followed.holder.apply(ProjectionBatch([], {}))

    assert followed.held() == []
    assert followed.read_side.holders() == {"cleo": 1}


def test_only_what_lies_before_the_position_is_taken_from_the_archive(followed: Gaps) -> None:
    """Else two versions at the same position could hold different rows."""
    missing = followed.gap("p-1", PositionAdjusted(amount=2))
    followed.log.repeat(missing)
    later = followed.log.batch()
    followed.archive.apply(later)

    followed.holder.apply(ProjectionBatch([], {}))
    assert followed.read_side.holders() == {"ada": 1}

    followed.holder.apply(later)
    assert followed.held() == []
    assert followed.read_side.holders() == {"bob": 1}


@pytest.mark.proves("A-05")
def test_a_long_wait_is_made_up_for_in_several_batches(
    followed: Gaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releasing, "MOST", 2)
    for number in range(3):  # what is not to be had takes no room
        followed.gap(f"p-0{number}", PositionAdjusted(amount=2))
    missing = [
        followed.gap(name, *(PositionAdjusted(amount=n) for n in range(1, 4)))
        for name in ("p-1", "p-2")
    ]
    for event in missing:
        followed.log.repeat(event)
    batch = followed.log.batch()
    followed.archive.apply(batch)

    followed.holder.apply(batch)
    reached = [followed.version("p-1") + followed.version("p-2")]
    for _ in range(2):
        followed.holder.apply(ProjectionBatch([], {}))
        reached.append(followed.version("p-1") + followed.version("p-2"))

    assert reached == [5, 7, 9]
    assert [name for name, *_ in followed.held()] == ["p-00", "p-01", "p-02", "p-2"]


def test_a_second_version_that_is_built_is_released_too(followed: Gaps) -> None:
    missing = followed.gap("p-1", PositionTransferred(client="cleo"))
    until_here = followed.log.everything()
    followed.log.repeat(missing)
    followed.batch()
    second = compile_projection(us_holder, 2)
    with followed.read_side.engine.begin() as connection:
        creation.create(connection, [second])
    beside = Applier(
        followed.read_side.engine, second, Topics(APPLICATION), lambda: NOW, False, missing_events
    )

    beside.apply(until_here)
    assert [name for name, *_ in followed.held()] == ["p-1"]
    beside.apply(followed.log.everything())

    assert followed.held() == []
    tables = followed.read_side.dump()
    assert tables["us_holder_v2"] == tables["us_holder_v1"] != []


def test_what_is_held_costs_three_statements_a_batch_and_no_hold_none(followed: Gaps) -> None:
    def cost() -> int:
        followed.log.add("p-0", PositionAdjusted(amount=1))
        batch = followed.log.batch()
        followed.archive.apply(batch)
        with followed.read_side.statements() as sent:
            followed.holder.apply(batch)
        return len(sent)

    followed.log.add("p-0", opened("ada"))
    followed.batch()
    nothing_held = cost()
    followed.gap("p-1", PositionAdjusted(amount=2))
    one_held = cost()
    for number in range(2, 50):
        followed.gap(f"p-{number}", PositionAdjusted(amount=2))

    assert cost() == one_held == nothing_held + 3


def test_missing_events_are_looked_up_on_request(followed: Gaps) -> None:
    """Not through the archive, however long it is."""
    if followed.read_side.is_postgresql:
        return
    asked = str(
        releasing.released(compile_projection(us_holder)).compile(
            compile_kwargs={"literal_binds": True}
        )
    )
    with followed.read_side.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}").all()

    steps = [row[3] for row in plan]
    assert [step for step in steps if "SCAN" in step] == []
    assert {step.partition(" USING")[0] for step in steps if "SEARCH" in step} == {
        "SEARCH projection_blocked_v1",
        "SEARCH needed",
        "SEARCH needed_at",
        "SEARCH archived",
        "SEARCH archived_at",
    }


@pytest.mark.proves("A-05")
def test_one_whose_archived_row_was_altered_holds_its_aggregate_until_it_is_passed_over(
    followed: Gaps,
) -> None:
    """The record in Kafka is whole, and no other's: to stop would not help."""
    missing = followed.gap("p-1", PositionAdjusted(amount=2))
    altered = releasing.ARCHIVE.update().where(releasing.ARCHIVE.c.version == 3)
    with followed.read_side.engine.begin() as connection:
        connection.execute(altered.values(value=b"garbage"))
    followed.log.repeat(missing)
    followed.log.add("p-2", opened("cleo"))
    followed.batch()
    followed.restart()

    assert not followed.holder.is_stopped
    waits = "SELECT aggregate_id, version_needed, version_seen, error FROM projection_blocked"
    [(*held, error)] = followed.read_side.select(waits)
    assert held == ["p-1", 3, 3]
    assert "not readable: its row in event_archive was altered" in error
    assert followed.read_side.holders() == {"bob": 1, "cleo": 1}

    address = "us_holder/position/p-1"
    operator = BlockedAggregates(
        APPLICATION,
        followed.read_side.engine,
        {"us_holder": lambda _: followed.holder.projection},
    )
    with pytest.raises(VerdictError, match="cannot be read: its row in event_archive was alt"):
        operator.edit(address, b"{}", OperatorIdentity("ada", "mistyped"))
    said = operator.skip(address, OperatorIdentity("ada", "the disk lied"))
    assert said == f"{address} is passed over, and all that waited behind it"
    followed.log.add("p-1", PositionTransferred(client="dora"))
    followed.batch()

    assert followed.held() == []
    assert followed.read_side.holders() == {"cleo": 1, "dora": 1}
