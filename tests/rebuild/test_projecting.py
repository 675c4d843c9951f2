"""The read side on a real Kafka."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, make_url

from projections.us_holder import Position, us_holder
from schemas.position import PositionClosed, PositionTransferred
from tests.kit.log import opened
from tests.postgresql import LET_GO, Server
from tests.read_side.responses import ACCEPTED, REJECTED
from tests.rebuild.deployment import Deployment, reaches, some_projections
from verdict.adapters.sql.bulk import MANY
from verdict.adapters.sql.sqlite_file import DatabaseFileChangedError
from verdict.errors import UnreachableError, VerdictError
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.operations.repair.operator import NothingWaitsError, OperatorIdentity
from verdict.operations.repair.stopping_records import StoppingRecords
from verdict.read_side.apply import missing_events as releasing
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.live import projection_runner
from verdict.read_side.live.live_projections import LiveProjections
from verdict.read_side.live.projection_runner import SkippedSinceError
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.schema import creation
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables import versions
from verdict.read_side.tables.versions import SupersededError
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import encode

pytestmark = pytest.mark.kafka

PATIENCE_S = 120
FOLLOWERS = ["client_overview", "event_archive", "position_state", "us_holder"]  # of positions


def fails(_: object, event: RecordedEvent) -> Position | None:
    raise ZeroDivisionError("a bug")


@pytest.mark.proves("A-06")
def test_what_is_committed_becomes_rows_once_also_over_a_restart(
    deployment: Deployment, running: Callable[[], LiveProjections]
) -> None:
    answers = deployment.topics.responses("order"), "order-1"
    deployment.write(*deployment.happens("p-1", opened("ada")), (*answers, encode(ACCEPTED)))
    first = running()
    reaches(first, lambda: deployment.select("SELECT client FROM us_holder") == [("ada",)])
    reaches(first, lambda: deployment.select("SELECT command_id FROM outcome") == [("c-1",)])
    first.stop()

    moved = deployment.happens("p-1", PositionTransferred(client="bob"))
    deployment.write(*moved, (*answers, encode(REJECTED)))
    second = running()
    reaches(second, lambda: deployment.select("SELECT count(*) FROM outcome") == [(2,)])
    deployment.write(*deployment.happens("p-2", opened("cleo")), *moved)
    reaches(second, lambda: ("cleo",) in deployment.select("SELECT client FROM us_holder"))

    assert deployment.select("SELECT client, kind FROM us_holder_change ORDER BY seq") == [
        ("ada", "entered"),
        ("ada", "left"),
        ("bob", "entered"),
        ("cleo", "entered"),
    ]
    assert deployment.select("SELECT * FROM projection_stopped") == []


def test_what_is_aborted_is_never_seen(
    deployment: Deployment, running: Callable[[], LiveProjections]
) -> None:
    projecting = running()
    aborted = deployment.happens("p-1", opened("ada"), PositionClosed())
    deployment.write(*aborted, commit=False)
    deployment.write(*deployment.happens("p-2", opened("bob")))

    reaches(projecting, lambda: deployment.select("SELECT client FROM us_holder") == [("bob",)])
    assert deployment.select("SELECT * FROM projection_blocked") == []


def test_tampering_stops_those_who_follow_the_topic_and_nobody_else(
    deployment: Deployment, running: Callable[[], LiveProjections]
) -> None:
    events = deployment.topics.events("position")
    deployment.write((events, "p-1", b"garbage"))
    projecting = running()
    stopped = "SELECT projection, topic, partition, offset FROM projection_stopped"
    place = deployment.log.place_of("p-1").partition
    followers = [(name, events, place, 0) for name in FOLLOWERS]
    reaches(projecting, lambda: sorted(deployment.select(stopped)) == followers)

    deployment.write((deployment.topics.responses("order"), "order-1", encode(ACCEPTED)))
    reaches(projecting, lambda: deployment.select("SELECT command_id FROM outcome") == [("c-1",)])


def stopping_records(deployment: Deployment, engine: Engine) -> StoppingRecords:
    deployment.create(deployment.topics.skips)
    return StoppingRecords(engine, lambda: deployment.options, deployment.topics)


@pytest.mark.proves("B-09")
def test_records_that_nobody_can_read_are_skipped_by_an_operator_and_all_continue(
    deployment: Deployment, running: Callable[[], LiveProjections], engine: Engine
) -> None:
    """G-03: on record, in Kafka and in SQL, and respected by every later run."""
    records = stopping_records(deployment, engine)
    events = deployment.topics.events("position")
    garbage = (events, "p-1", b"garbage")
    deployment.write(garbage, garbage, *deployment.happens("p-1", opened("ada")))
    first = running()
    place = Source(events, deployment.log.place_of("p-1").partition, 0)
    by = "ada", "the job of the 3rd wrote it"
    reaches(first, lambda: [item["projections"] for item in records.listed()] == [FOLLOWERS])

    for until in (0, 99):
        with pytest.raises(VerdictError, match=f"nothing was skipped: {place}-{until} is no range"):
            records.skip(place, until, OperatorIdentity(*by))
    said = records.skip(place, 2, OperatorIdentity(*by))

    assert said.startswith(f"{place} up to 1 is skipped by all that reads the topic. client_over")
    with pytest.raises(SkippedSinceError, match=f"{place}, which stopped .*, is skipped"):
        reaches(first, lambda: False)
    first.stop()
    second = running()
    reaches(second, lambda: deployment.select("SELECT client FROM us_holder") == [("ada",)])
    reaches(second, lambda: deployment.select("SELECT version FROM event_archive") == [(1,)])
    assert deployment.select("SELECT * FROM projection_stopped") == []
    decided = 'SELECT topic, "offset", until_offset, operator, reason FROM skipped_record'
    assert deployment.select(decided) == [(events, 0, 2, *by)]
    assert [*records.listed()] == []
    with pytest.raises(NothingWaitsError):
        records.skip(place, None, OperatorIdentity("ada", "again"))


@pytest.mark.proves("B-09")
def test_all_that_waits_is_applied_after_a_start_though_nothing_else_happens(
    deployment: Deployment,
    running: Callable[..., LiveProjections],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More of it than one batch takes, and no batch follows."""
    monkeypatch.setattr(releasing, "MOST", 2)
    others = [p for p in some_projections() if p.name != "us_holder"]
    names = [f"p-{number}" for number in range(5)]
    happened = [deployment.happens(name, opened(name)) for name in names]
    deployment.write(*(record for one in happened for record in one))
    broken = running(declared=[*others, replace(compile_projection(us_holder), evolve=fails)])
    at_fault = "SELECT count(*) FROM projection_blocked WHERE error IS NOT NULL"
    reaches(broken, lambda: deployment.select(at_fault) == [(len(names),)])
    reaches(broken, lambda: deployment.select("SELECT count(*) FROM event_archive") == [(5,)])
    broken.stop()

    fixed = running()
    reaches(fixed, lambda: deployment.select("SELECT * FROM projection_blocked") == [])
    clients = deployment.select("SELECT client FROM us_holder ORDER BY client")
    assert clients == [(name,) for name in names]


@pytest.mark.proves("D-04")
def test_who_was_built_with_other_settings_waits_for_a_version_that_fits_and_the_others_go_on(
    deployment: Deployment, running: Callable[..., LiveProjections], engine: Engine
) -> None:
    """As after a swap to a version that was built with what the service is not set to."""
    create_read_side(engine, [compile_projection(us_holder, us_exchanges=["LON"])])
    deployment.write(*deployment.happens("p-1", opened("ada")))
    projecting = running()
    reaches(projecting, lambda: deployment.select("SELECT count(*) FROM event_archive") == [(1,)])
    follows = "SELECT topic FROM projection_topic WHERE projection = 'event_archive'"
    assert (deployment.topics.events("position"),) in deployment.select(follows)
    stopped = "SELECT projection, version FROM projection_stopped"
    assert deployment.select(stopped) == [("us_holder", 1)]
    assert deployment.select("SELECT * FROM us_holder") == []

    fitting = compile_projection(us_holder, 2)
    with engine.begin() as connection:
        creation.create(connection, [fitting])
        versions.show(connection, fitting)
    with pytest.raises(SupersededError, match="that is v2"):
        reaches(projecting, lambda: False)


@pytest.mark.proves("C-11")
def test_what_is_too_large_for_one_batch_is_applied_part_by_part(
    deployment: Deployment,
    running: Callable[..., LiveProjections],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"ada-{n}" for n in range(5)]
    events = [event for name in names for event in deployment.happens(f"p-{name}", opened(name))]
    aborted = deployment.happens("p-x", opened("nobody"))
    deployment.write(*events[:3])
    deployment.write(*aborted, commit=False)
    huge = deployment.happens("p-huge", opened("x" * 100_000))
    deployment.write(*events[3:], *huge, *deployment.happens("p-ada-3", PositionClosed()))
    left = {*names, "x" * 100_000} - {"ada-3"}

    def holders() -> set[str]:
        return {name for (name,) in deployment.select("SELECT client FROM us_holder")}

    monkeypatch.setattr(
        projection_runner, "BYTES", 5_000
    )  # about six small events; not the huge one
    projecting = running(most=2)

    reaches(projecting, lambda: holders() == left)
    deployment.write(*deployment.happens("p-after", opened("bob")))
    reaches(projecting, lambda: holders() == left | {"bob"})
    assert deployment.select("SELECT * FROM projection_stopped") == []
    assert deployment.select("SELECT * FROM projection_blocked") == []


@pytest.mark.proves("F-21")
def test_a_database_file_that_is_gone_is_noticed_though_nothing_happens(
    deployment: Deployment, running: Callable[[], LiveProjections]
) -> None:
    projecting = running()
    file = Path(deployment.url.removeprefix("sqlite:///"))
    file.rename(file.with_suffix(".elsewhere"))

    with pytest.raises(DatabaseFileChangedError, match="was removed or renamed while it was open"):
        reaches(projecting, lambda: False)


def test_all_of_a_database_lies_in_its_one_file_when_it_is_stopped(
    deployment: Deployment, running: Callable[[], LiveProjections]
) -> None:
    """Else a copy lacks the end, and one that is put back meets the log of another."""
    deployment.write(*deployment.happens("p-1", opened("ada")))
    projecting = running()
    reaches(projecting, lambda: deployment.select("SELECT client FROM us_holder") == [("ada",)])
    file = Path(deployment.url.removeprefix("sqlite:///"))
    projecting.stop()

    assert [one.name for one in file.parent.glob(f"{file.name}*")] == [file.name]


@pytest.mark.proves("A-06", "F-10")
def test_who_is_advanced_by_somebody_else_is_stopped_alone(
    deployment: Deployment,
    running: Callable[[], LiveProjections],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """G-06: once may have been a commit of our own whose answer was lost."""
    deployment.write(*deployment.happens("p-1", opened("ada")))
    projecting = running()
    reaches(projecting, lambda: deployment.select("SELECT client FROM us_holder") == [("ada",)])
    archived = "SELECT count(*) FROM event_archive"
    stopped = "SELECT error FROM projection_stopped WHERE projection = 'us_holder'"

    reaches(projecting, lambda: deployment.reached("us_holder") == deployment.end())
    advance(deployment, "us_holder")
    deployment.write(*deployment.happens("p-1", PositionTransferred(client="bob")))
    # both before the next one, or the two would be one to it
    reaches(projecting, lambda: "us_holder v1" in caplog.text)
    reaches(projecting, lambda: deployment.select(archived) == [(2,)])
    assert deployment.select(stopped) == []
    reaches(projecting, lambda: deployment.reached("us_holder") == deployment.end())
    advance(deployment, "us_holder")
    deployment.write(*deployment.happens("p-1", PositionTransferred(client="eve")))
    reaches(projecting, lambda: deployment.select(stopped) != [])

    [(error,)] = deployment.select(stopped)
    assert error.startswith("another runner advances projection us_holder v1")
    reaches(projecting, lambda: deployment.select(archived) == [(3,)])


def advance(deployment: Deployment, name: str) -> None:
    """Move the position of a projection by one in every partition, as another runner would."""
    events = deployment.topics.events("position")
    reached = (
        "SELECT partition, next_offset FROM projection_position WHERE topic = ? AND projection = ?"
    )
    spans = {
        TopicPartition(events, number): OffsetRange(end, end + 1)
        for number, end in deployment.select(reached, events, name)
    }
    another = open_database(deployment.url)
    (projection,) = (one for one in some_projections() if one.name == name)
    Applier(another, projection, deployment.topics).apply(ProjectionBatch([], spans))
    another.dispose()


@pytest.mark.proves("H-02")
def test_carried_states_and_the_bytes_of_events_arrive_whole(
    deployment: Deployment, running: Callable[..., LiveProjections]
) -> None:
    def holding(name: str) -> bytes:
        position = {"id": name, "client": name, "ticker": "FB", "amount": 1, "exchange": "NYSE"}
        return json.dumps(position).encode()

    topic = deployment.topics.named("share-holders")
    deployment.write((topic, "ada", holding("ada")), (topic, "bob", holding("bob")))
    deployment.write((topic, "bob", b'{"id": "bob", "amount": 0}'), (topic, "eve", b"?"))
    events = deployment.happens("p-1", opened("ada"))
    deployment.write((topic, "ada", None), (topic, "nobody", None), *events)
    projecting = running()

    def holders() -> list[tuple[Any, ...]]:
        return deployment.select("SELECT client, positions FROM us_holder_from_state")

    def archived() -> list[tuple[Any, ...]]:
        return deployment.select("SELECT global_position, value FROM event_archive")

    reaches(projecting, lambda: bool(archived()) and bool(holders()))
    assert holders() == [("bob", 1)]
    assert archived() == [(1, events[0][2])]
    held = "SELECT aggregate_type, aggregate_id FROM projection_blocked ORDER BY aggregate_id"
    assert deployment.select(held) == [(topic, "bob"), (topic, "eve")]
    assert not deployment.select("SELECT error FROM projection_stopped")


class TestOnPostgresql:
    """The same on PostgreSQL, once."""

    @pytest.fixture
    def url(self, postgresql: Server) -> Iterator[str]:
        with postgresql.database() as url:
            yield url

    def test_a_database_that_goes_away_is_said_and_followed_again(
        self, deployment: Deployment, running: Callable[[], LiveProjections], postgresql: Server
    ) -> None:
        count = "SELECT count(*) FROM us_holder"
        names = [f"ada-{number}" for number in range(MANY)]
        opening = [event for n in names for event in deployment.happens(f"p-{n}", opened(n))]
        deployment.write(*opening)
        first = running()
        reaches(first, lambda: deployment.select(count) == [(MANY,)])

        postgresql.execute(LET_GO, make_url(deployment.url).database or "")
        deployment.write(*deployment.happens("p-ada-0", PositionClosed()))
        with pytest.raises(
            UnreachableError, match=r"the database of the read side failed: .*(terminat|lost)"
        ):
            reaches(first, lambda: deployment.select(count) == [(MANY - 1,)])
        first.stop()

        second = running()
        reaches(second, lambda: deployment.select(count) == [(MANY - 1,)])
        assert deployment.select("SELECT * FROM projection_stopped") == []
