"""A version built from what Kafka has and from what it has dropped, in processes and here."""

from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Producer
from sqlalchemy import select

from projections.us_holder import us_holder
from projections.us_holder_from_state import us_holder_from_state
from schemas.position import PositionAdjusted, PositionClosed, PositionTransferred
from tests.application import APPLICATION, encode_event
from tests.event_log.followable import Followable
from tests.kit.log import EventLog, opened
from verdict.adapters.kafka.reader import KafkaLog
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.catalog import declared
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Rebuildable
from verdict.read_side.rebuild.build import ProjectionBuild
from verdict.read_side.rebuild.comparison import compare
from verdict.read_side.rebuild.errors import BuildStoppedError, ConcurrentBuildError
from verdict.read_side.rebuild.log_fold import LogFold, ends_of
from verdict.read_side.rebuild.log_replay import decoded, read_if_short
from verdict.read_side.rebuild.version_pair import BuildStep, OnStep, create_next
from verdict.read_side.schema import creation
from verdict.read_side.tables import blocked, interventions, position, versions
from verdict.read_side.tables.interventions import Intervention, Kind
from verdict.read_side.tables.row_states import VersionState
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.event_log import EventLog as Log
from verdict.streaming.event_log.event_log import EventsMissingError
from verdict.streaming.exactly_once.failpoints import ignore_step

pytestmark = pytest.mark.kafka

NAME = "us_holder"
BUILT = compile_projection(us_holder, 2)


@pytest.fixture
def followable(followable: Followable) -> Followable:
    """Return one whose read side has the tables of version 2, too."""
    with followable.read_side.engine.begin() as connection:
        creation.create(connection, [BUILT])
    return followable


class Build(Protocol):
    """Builds version 2 from all that there ever was."""

    def __call__(
        self, of: Followable, built: Rebuildable = BUILT, on_step: OnStep = ignore_step
    ) -> None: ...


@pytest.fixture(params=["in processes", "here"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Build:
    """Return what builds in each of the two ways."""

    def built_by(of: Followable, built: Rebuildable = BUILT, on_step: OnStep = ignore_step) -> None:
        with KafkaLog(of.options) as log, of.read_side.reader() as reader:
            ends = ends_of(built, log, of.topics)
            events = Log(of.topics, lambda: log, lambda: Archive(reader))
            building = ProjectionBuild(of.read_side.engine, built, ignore_step, on_step)
            if request.param == "here":
                records = read_if_short(events, ends)
                assert records is not None
                building.replay(decoded(records, of.topics), ends, of.topics)
            else:
                building.write(LogFold(events, of.topics, tmp_path / "scratch", 3), ends)

    return built_by


@pytest.mark.proves("H-09")
def test_what_kafka_has_dropped_comes_from_the_archive(
    build: Build, followable: Followable
) -> None:
    live = followable.read_side.applier(NAME)
    live.topics = BUILT.topics(followable.topics)
    followable.happen(3)
    followable.archive()
    followable.apply(live)
    followable.drop()
    followable.happen(2)
    followable.apply(live)

    build(followable)

    with followable.read_side.engine.begin() as connection:
        assert position.load(connection, BUILT) == live.positions
        pairs = zip(live.projection.tables, BUILT.tables, strict=True)
        found = [compare(connection, *pair) for pair in pairs]
    assert [one.equal for one in found] == [True, True]
    assert [one.built.rows for one in found] == [12, 1]


@pytest.mark.proves("H-09")
def test_what_is_neither_in_kafka_nor_archived_is_named(
    build: Build, followable: Followable
) -> None:
    followable.happen(1)
    followable.drop(dict.fromkeys(range(4), 1))

    with pytest.raises(
        EventsMissingError, match=r":0 are archived up to offset 0 and Kafka has them from 1"
    ):
        build(followable)


def test_a_record_at_fault_is_named_and_no_position_is_written(
    build: Build, followable: Followable
) -> None:
    followable.happen(1)
    producer = Producer(followable.options)
    producer.produce(followable.topic, b"nonsense", "p-1", partition=2)
    producer.flush(30)

    with pytest.raises(BuildStoppedError, match=r"us_holder v2 stopped: .*:2:\d+: not readable"):
        build(followable)

    with followable.read_side.engine.begin() as connection:
        assert position.load(connection, BUILT) == {}


@pytest.mark.proves("B-09")
def test_what_was_decided_about_events_is_built_in(build: Build, followable: Followable) -> None:
    log, producer = EventLog(), Producer(followable.options)
    log.add("a", opened("ada"), PositionTransferred(client="mallory"))
    log.add("b", opened("bob"), PositionTransferred(client="mallory"), PositionAdjusted(amount=2))
    with followable.read_side.engine.begin() as connection:
        for event, payload in zip(
            [one.record for one in log.deliveries if version_of(one) == 2],
            ['{"client": "eve"}', None],
            strict=True,
        ):
            assert isinstance(event, RecordedEvent)
            kind: Kind = "edit" if payload else "evict"
            made = Intervention(kind, "ada", "mistyped", 0, None, payload)
            key = event.aggregate_type, event.aggregate_id, event.version
            interventions.record(connection, declared(APPLICATION)[NAME](1), key, made)
    for one in log.deliveries:
        producer.produce(followable.topic, one.value, one.record.aggregate_id)  # type: ignore[union-attr]
    producer.flush(30)

    build(followable)

    columns = BUILT.tables[0].c
    rows = select(columns.aggregate_id, columns.version, columns.client)
    with followable.read_side.engine.begin() as connection:
        assert {*map(tuple, connection.execute(rows))} == {("a", 2, "eve"), ("b", 3, "bob")}


def version_of(delivery: Delivery) -> int:
    assert isinstance(delivery.record, RecordedEvent)
    return delivery.record.version


def test_an_aggregate_behind_a_gap_is_held(build: Build, followable: Followable) -> None:
    log, producer = EventLog(), Producer(followable.options)
    log.add("a", opened("ada"))
    log.add_unseen("b", opened("bob"))
    log.add("b", PositionClosed())
    for one in log.deliveries:
        event = one.record
        producer.produce(followable.topic, encode_event(event), event.aggregate_id)  # type: ignore[arg-type,union-attr]
    producer.flush(30)

    build(followable)

    held = select(blocked.table.c.aggregate_id, blocked.table.c.version_needed)
    with followable.read_side.engine.begin() as connection:
        assert connection.execute(held).all() == [("b", 1)]
        rows = connection.execute(select(BUILT.tables[1])).all()
    assert [row.client for row in rows] == ["ada"]


@pytest.mark.proves("H-02")
def test_a_key_whose_newest_state_cannot_be_read_is_held(
    build: Build, followable: Followable, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, topic = (
        compile_projection(us_holder_from_state, 2),
        followable.topics.named("share-holders"),
    )
    engine = followable.read_side.engine
    with engine.begin() as connection:
        creation.create(connection, [built])
    good = b'{"id": "1", "client": "ada", "ticker": "FB", "amount": 33, "exchange": "NYSE"}'
    producer = Producer(followable.options)
    for key, value in ((b"1", good), (b"1", b"{}"), (b"2", b"?"), (b"3", b"?"), (b"3", None)):
        producer.produce(topic, value, key)
    producer.flush(30)
    monkeypatch.setattr(blocked, "MOST_AT_FAULT", 1)

    with pytest.raises(BuildStoppedError, match="more than 1 aggregates cannot be applied"):
        build(followable, built)
    monkeypatch.undo()
    with engine.begin() as connection:
        creation.drop(connection, built)
        creation.create(connection, [built])
    build(followable, built)

    held = select(blocked.table.c.aggregate_type, blocked.table.c.aggregate_id)
    with engine.begin() as connection:
        assert {*map(tuple, connection.execute(held))} == {(topic, "1"), (topic, "2")}
        assert [row.client for row in connection.execute(select(built.tables[1]))] == ["ada"]


@pytest.mark.proves("B-06")
def test_who_builds_a_version_that_somebody_else_begins_anew_writes_no_row_more(
    build: Build, followable: Followable
) -> None:
    followable.happen(1)
    engine = followable.read_side.engine

    def on_step(step: BuildStep) -> None:
        if step is BuildStep.WRITTEN:
            create_next(engine, NAME, lambda version: compile_projection(us_holder, version))

    with pytest.raises(ConcurrentBuildError, match="builds us_holder v2 from the start"):
        build(followable, on_step=on_step)

    with engine.begin() as connection:
        assert versions.of(connection, BUILT).state == VersionState.INCOMPLETE
        assert position.load(connection, BUILT) == {}
        for table in BUILT.tables:
            assert connection.execute(select(table)).all() == []
