from collections.abc import Iterator
from random import Random

import pytest

from projections.us_holder import us_holder
from schemas.position import PositionAdjusted, PositionClosed, PositionTransferred
from tests.conftest import NewDatabase
from tests.kit.databases import NOW, ReadSide
from tests.kit.log import TOPIC, EventLog, opened
from tests.read_side.holding import failing_holder, with_holder
from verdict.model.message import iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.read_side.apply.batch import Delivery, ProjectionBatch, UnreadableRecord
from verdict.read_side.live.projection_runner import SkippedSinceError, require_still_stopped
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.tables import blocked, skips
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.skip_record import NOTHING_PASSED_OVER, SkippedRanges, SkipRecord

HELD = "SELECT aggregate_id, version_needed, version_seen, error FROM projection_blocked"
STOPPED = (
    'SELECT projection, version, topic, partition, "offset", stopped_at FROM projection_stopped'
)


@pytest.fixture
def log() -> EventLog:
    return EventLog(partitions=1)


@pytest.fixture
def buggy(new_database: NewDatabase) -> Iterator[ReadSide]:
    """Return a read side whose `us_holder` fails when an amount becomes 13."""
    broken = failing_holder(lambda payload: payload == PositionAdjusted(amount=13))
    read_side = with_holder(new_database(), broken)
    yield read_side
    read_side.close()


@pytest.mark.proves("B-09")
def test_an_aggregate_that_cannot_be_applied_waits_with_the_error_and_the_others_go_on(
    buggy: ReadSide, log: EventLog, caplog: pytest.LogCaptureFixture
) -> None:
    """B-9, H-04: what was applied of it stays to be seen."""
    applier = buggy.applier("us_holder")
    log.add("p-1", opened("bob"))
    applier.apply(log.batch())
    log.add("p-1", PositionAdjusted(amount=13), PositionTransferred(client="cleo"))
    log.add("p-0", opened("ada"))

    applier.apply(log.batch())
    log.add("p-1", PositionClosed())
    log.add("p-2", opened("dora"))
    applier.apply(log.batch())

    assert not applier.is_stopped
    assert buggy.holders() == {"ada": 1, "bob": 1, "dora": 1}
    [(*held, error)] = buggy.select(HELD)
    assert held == ["p-1", 2, 4]
    assert error.startswith(
        "record position.events:0:1: PositionAdjusted, version 2 of position 'p-1': "
        "ZeroDivisionError: a\\0bug (tests/read_side/holding.py, line "
    )
    assert [r.message.split(": ")[0] for r in caplog.records if r.levelname == "ERROR"] == [
        "projection us_holder v1 blocks position p-1 at version 2"
    ]


@pytest.mark.proves("B-09")
def test_after_the_bug_is_mended_it_goes_on_from_the_archive_in_order(
    buggy: ReadSide, log: EventLog
) -> None:
    applier = buggy.applier("us_holder")
    changes = PositionAdjusted(amount=13), PositionTransferred(client="cleo")
    log.add("p-1", opened("bob"), *changes, PositionTransferred(client="dora"))
    batch = log.batch()
    buggy.applier("event_archive").apply(batch)
    applier.apply(batch)
    buggy.projections["us_holder"] = compile_projection(us_holder)

    buggy.applier("us_holder").apply(log.batch())

    assert buggy.select(HELD) == []
    assert buggy.holders() == {"dora": 1}
    assert [(client, kind) for client, kind, _ in buggy.changes()] == [
        ("bob", "entered"), ("bob", "left"), ("dora", "entered"),
    ]  # fmt: skip


@pytest.mark.proves("B-09")
def test_with_too_many_aggregates_at_fault_it_is_the_projection_that_is_stopped(
    buggy: ReadSide, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocked, "MOST_AT_FAULT", 2)
    applier = buggy.applier("us_holder")
    for name in ("p-1", "p-2"):
        log.add(name, opened("bob"), PositionAdjusted(amount=13))
    applier.apply(log.batch())
    assert buggy.select(STOPPED) == []
    log.add("p-3", opened("ada"), PositionAdjusted(amount=13))

    applier.apply(log.batch())

    assert applier.is_stopped
    assert buggy.select(STOPPED) == [("us_holder", 1, None, None, None, iso_time(NOW))]
    assert buggy.holders() == {"bob": 2}
    ((error,),) = buggy.select("SELECT error FROM projection_stopped")
    assert "more than 2 aggregates cannot be applied, the last: record position" in error


def test_a_record_that_cannot_be_read_stops_the_projection_until_the_next_start(
    read_side: ReadSide, log: EventLog, caplog: pytest.LogCaptureFixture
) -> None:
    """The message says where to look, without the lines of our code."""
    applier = read_side.applier("us_holder")
    log.add("p-1", opened("ada"), PositionAdjusted(amount=2))
    first, second = log.deliveries
    bad = second._replace(record=UnreadableRecord("DecodeError: schema id 99 is unknown here"))
    applier.apply(ProjectionBatch([bad, first], {TopicPartition(TOPIC, 0): OffsetRange(0, 2)}))
    assert applier.is_stopped
    error = f"record {TOPIC}:0:1: not readable: DecodeError: schema id 99 is unknown here"
    assert read_side.select("SELECT error FROM projection_stopped") == [(error,)]
    [said] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert said.message.endswith(f"{error}; `verdict skip {TOPIC}:0:1 --reason …` skips it")
    assert said.exc_info is None
    assert read_side.holders() == {}, "nothing of the batch is applied"
    before = read_side.dump()

    assert applier.apply(log.everything()).applied == 0
    assert read_side.dump() == before

    fixed = read_side.applier("us_holder")
    assert read_side.select(STOPPED) == [("us_holder", 1, TOPIC, 0, 1, iso_time(NOW))]
    fixed.apply(log.everything())
    assert read_side.select(STOPPED) == []
    assert read_side.holders() == {"ada": 1}


def test_a_failure_does_not_stop_the_others(read_side: ReadSide, log: EventLog) -> None:
    bad = Delivery(TOPIC, 0, 0, UnreadableRecord("broken"))
    responses = TopicPartition("position.responses", 0)
    batch = ProjectionBatch(
        [bad], {TopicPartition(TOPIC, 0): OffsetRange(0, 1), responses: OffsetRange(0, 1)}
    )
    appliers = {name: read_side.applier(name) for name in read_side.projections}

    for applier in appliers.values():
        applier.apply(batch)

    still = {name for name, applier in appliers.items() if applier.is_stopped}
    followers = {"client_overview", "event_archive", "position_state", "us_holder"}
    assert still == followers, "those that follow what is broken"
    assert appliers["outcome"].positions == {responses: 1}


def refused_client(postgresql: bool) -> str:
    """Return a client that an event of an earlier release could have, and the database refuses."""
    incompressible = "".join(map(chr, Random(1).choices(range(0x4E00, 0x9000), k=4000)))
    return incompressible if postgresql else "\ud800"


@pytest.mark.proves("B-09")
@pytest.mark.both_databases
def test_what_the_database_cannot_keep_holds_its_aggregate_and_the_others_go_on(
    read_side: ReadSide, log: EventLog
) -> None:
    """T-01: one event of one aggregate is no reason to stop the projection for good."""
    applier = read_side.applier("us_holder")
    client = refused_client(read_side.is_postgresql)
    log.add("p-0", opened("ada"))
    log.add("p-1", opened("bob"), PositionAdjusted(amount=2))
    transferred = PositionTransferred.model_construct(client=client)
    bad = log.add_unseen("p-1", PositionTransferred(client="mallory"))
    behind = [log.add_unseen("p-1", PositionAdjusted(amount=n)) for n in (3, 4)]
    everything = log.batch()
    place = log.place_of("p-1")
    late = [
        Delivery(*place, 3 + number, event)
        for number, event in enumerate([bad._replace(payload=transferred), *behind])
    ]
    others = [Delivery(*place, 6 + number, event) for number, event in enumerate(of_others(40))]
    spans = {place: OffsetRange(0, 46)}

    applier.apply(ProjectionBatch([*everything.deliveries([TOPIC]), *late, *others], spans))

    assert applier.failure is None
    ((name, needed, seen, error),) = read_side.select(HELD)
    assert (name, needed, seen) == ("p-1", 3, 5)
    assert error.startswith(
        "record position.events:0:3: PositionTransferred, version 3 of position 'p-1': the "
        "database cannot store the result: "
    )
    assert read_side.holders() == {"ada": 1, "bob": 1} | {f"c-{n}": 1 for n in range(40)}
    assert read_side.select("SELECT next_offset FROM projection_position") == [(46,)]


def of_others(count: int) -> list[RecordedEvent]:
    log = EventLog(1)
    return [log.add_unseen(f"o-{number}", opened(f"c-{number}")) for number in range(count)]


@pytest.mark.proves("B-09")
def test_what_kafka_has_dropped_for_good_is_passed_over_once_that_is_decided(
    read_side: ReadSide, log: EventLog
) -> None:
    """G-03: an archive that Kafka has outrun is not stopped forever."""
    for name in ("p-1", "p-2", "p-3"):
        log.add(name, opened("ada"))
    (place,) = log.partitions
    rest = ProjectionBatch(log.deliveries[2:], {place: OffsetRange(2, 3)})
    stopped = read_side.applier("event_archive")
    stopped.apply(rest)
    seen = read_side.select('SELECT projection, topic, partition, "offset" FROM projection_stopped')
    assert seen == [("event_archive", TOPIC, 0, 0)]
    assert f"verdict skip {TOPIC}:0:0 --reason" in str(stopped.failure)

    for until in (1, 2):  # the first decision reaches not far enough
        lacking = read_side.applier("event_archive")
        assert lacking.apply(rest).applied == 0
        assert f"skip {TOPIC}:0:{until - 1} --reason" in str(lacking.failure), "what is undecided"
        made = SkipRecord(
            source=Source(TOPIC, 0, until - 1),
            until_offset=until,
            operator="ada",
            reason="gone",
            decided_at=NOW,
        )
        with read_side.engine.begin() as connection:
            skips.copy(connection, [made])

    assert read_side.applier("event_archive").apply(rest).applied == 1
    assert read_side.select("SELECT aggregate_id FROM event_archive") == [("p-3",)]
    assert read_side.select("SELECT * FROM projection_stopped") == []


@pytest.mark.proves("B-09")
def test_what_was_decided_before_a_run_began_is_no_reason_to_begin_again(
    read_side: ReadSide, log: EventLog
) -> None:
    """Else it would begin again forever, as nothing of it would be otherwise."""
    log.add("p-1", opened("ada"))
    (readable,) = log.deliveries
    stopped = read_side.applier("us_holder")
    stopped.apply(
        ProjectionBatch(
            [readable._replace(record=UnreadableRecord("?"))], log.batch().spans([TOPIC])
        )
    )
    decided = SkippedRanges.of([(TOPIC, 0, 0, 1)])

    require_still_stopped(stopped, NOTHING_PASSED_OVER, NOTHING_PASSED_OVER)
    require_still_stopped(stopped, decided, known=decided)
    with pytest.raises(SkippedSinceError, match=f"{TOPIC}:0:0, which stopped us_holder"):
        require_still_stopped(stopped, decided, known=NOTHING_PASSED_OVER)
