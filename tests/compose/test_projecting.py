"""The read side on a real Kafka and a real Spark."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession
from sqlalchemy import make_url

from compose.database import create_read_side, open_database
from compose.errors import Unreachable, VerdictError
from compose.local.broker import EmbeddedBroker
from compose.local.spark import spark_session
from compose.projecting import Projecting
from compose.reader import Reader
from projections.engine.applier import Applier
from projections.engine.batch import Batch, Partition, Span
from projections.engine.copying import MANY
from projections.engine.creation import view_names
from projections.registry import projections
from projections.stream import TASK_BYTES
from schemas.position import PositionClosed, PositionTransferred
from schemas.recorded_event import RecordedEvent
from schemas.topics import Topics
from schemas.wire.records import encode, encode_event
from tests.postgresql import LET_GO, Server
from tests.projections.event_log import EventLog, opened
from tests.projections.responses import ACCEPTED, REJECTED

pytestmark = pytest.mark.spark

PATIENCE_S = 120


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = spark_session("projecting", 1, 1, "512m", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


class Deployment:
    """Topics of one test, what is written to them, and the read side behind them."""

    def __init__(self, servers: str, prefix: str, directory: Path, url: str) -> None:
        self.topics = Topics(prefix=prefix, partitions=2)
        self.kafka = {
            "kafka.bootstrap.servers": servers,
            "kafka.fetch.max.wait.ms": "10",
            "maxOffsetsPerTrigger": "1000",
        }
        self.url = url
        self.directory = directory
        self.log = EventLog(partitions=2)
        self._admin = AdminClient({"bootstrap.servers": servers})
        self._servers = servers
        made = [NewTopic(t.name, t.partitions, 1) for t in self.topics.all() if t.partitions == 2]
        for created in self._admin.create_topics(made).values():
            created.result(30)

    def write(self, *records: tuple[str, str, bytes | None], commit: bool = True) -> None:
        """Write (topic, key, value) in one transaction."""
        producer = Producer(
            {"bootstrap.servers": self._servers, "transactional.id": f"{self.topics.prefix}test"}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        for topic, key, value in records:
            producer.produce(topic, value, key, partition=self.log.place_of(key).partition)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.flush(30)
            producer.abort_transaction(30)

    def happens(self, position_id: str, *payloads: object) -> list[tuple[str, str, bytes]]:
        """Return the records of these events of a position."""
        before = len(self.log.deliveries)
        self.log.add(position_id, *payloads)  # type: ignore[arg-type]
        topic = self.topics.events("position")
        new = [d.record for d in self.log.deliveries[before:]]
        return [(topic, position_id, encode_event(e)) for e in new if isinstance(e, RecordedEvent)]

    def select(self, statement: str, *parameters: str) -> list[tuple[Any, ...]]:
        """Return what a reader sees."""
        with Reader(self.url, view_names(projections())) as reader:
            return list(reader.select(statement, parameters).rows)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'read.db'}"


@pytest.fixture
def deployment(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path, url: str
) -> Deployment:
    prefix = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:120] + "."
    return Deployment(broker.bootstrap_servers, prefix, tmp_path, url)


@pytest.fixture
def running(spark: SparkSession, deployment: Deployment) -> Iterator[Callable[..., Projecting]]:
    """Return what starts the read side (again)."""
    engine = open_database(deployment.url)
    create_read_side(engine, projections())
    started: list[Projecting] = []

    def start(task_bytes: int = TASK_BYTES) -> Projecting:
        parts = (deployment.kafka, engine, deployment.topics, projections(), task_bytes)
        projecting = Projecting(spark, *parts)
        started.append(projecting)
        projecting.start(deployment.directory)
        return projecting

    yield start
    for projecting in started:
        projecting.stop()
    engine.dispose()


def reaches(projecting: Projecting, reached: Callable[[], bool]) -> None:
    """Wait until something is seen, as long as the read side runs."""
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        projecting.check()
        assert time.monotonic() < deadline, f"not seen in {PATIENCE_S} s"
        time.sleep(0.05)


def test_what_is_committed_becomes_rows_once_also_over_a_restart(
    deployment: Deployment, running: Callable[[], Projecting]
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
    assert deployment.select("SELECT * FROM projection_parked") == []


def test_what_is_aborted_is_never_seen(
    deployment: Deployment, running: Callable[[], Projecting]
) -> None:
    projecting = running()
    aborted = deployment.happens("p-1", opened("ada"), PositionClosed())
    deployment.write(*aborted, commit=False)
    deployment.write(*deployment.happens("p-2", opened("bob")))

    reaches(projecting, lambda: deployment.select("SELECT client FROM us_holder") == [("bob",)])
    assert deployment.select("SELECT * FROM projection_held") == []


def test_tampering_parks_those_who_follow_the_topic_and_nobody_else(
    deployment: Deployment, running: Callable[[], Projecting]
) -> None:
    events = deployment.topics.events("position")
    deployment.write((events, "p-1", b"garbage"))
    projecting = running()
    parked = "SELECT projection, topic, partition, offset FROM projection_parked"
    place = deployment.log.place_of("p-1").partition
    followers = [(name, events, place, 0) for name in ("event_archive", "us_holder")]
    reaches(projecting, lambda: sorted(deployment.select(parked)) == followers)

    deployment.write((deployment.topics.responses("order"), "order-1", encode(ACCEPTED)))
    reaches(projecting, lambda: deployment.select("SELECT command_id FROM outcome") == [("c-1",)])


def test_a_batch_of_too_many_bytes_is_applied_part_by_part(
    deployment: Deployment, running: Callable[..., Projecting]
) -> None:
    names = [f"ada-{n}" for n in range(20)]
    events = [event for name in names for event in deployment.happens(f"p-{name}", opened(name))]
    aborted = deployment.happens("p-x", opened("nobody"))
    deployment.write(*events[:7])
    deployment.write(*aborted, commit=False)
    huge = deployment.happens("p-huge", opened("x" * 100_000))
    deployment.write(*events[7:], *huge, *deployment.happens("p-ada-3", PositionClosed()))
    left = {*names, "x" * 100_000} - {"ada-3"}
    count = "SELECT count(*) FROM us_holder"

    projecting = running(task_bytes=2_000)  # about four small events; not the huge one

    reaches(projecting, lambda: deployment.select(count) == [(len(left),)])
    deployment.write(*deployment.happens("p-after", opened("bob")))
    reaches(projecting, lambda: deployment.select(count) == [(len(left) + 1,)])
    assert {name for (name,) in deployment.select("SELECT client FROM us_holder")} == left | {"bob"}
    assert deployment.select("SELECT * FROM projection_parked") == []
    assert deployment.select("SELECT * FROM projection_held") == []


def test_a_bug_in_a_batch_is_told(
    deployment: Deployment, running: Callable[[], Projecting], monkeypatch: pytest.MonkeyPatch
) -> None:
    projecting = running()

    def broken(checkpoint: Path, batch_id: int) -> None:
        raise ZeroDivisionError(f"in batch {batch_id}")

    monkeypatch.setattr("compose.projecting.batch_of", broken)
    deployment.write(*deployment.happens("p-1", opened("ada")))

    with pytest.raises(ZeroDivisionError, match="in batch"):
        reaches(projecting, lambda: False)


def test_it_stops_when_somebody_else_advances_a_projection(
    deployment: Deployment, running: Callable[[], Projecting]
) -> None:
    deployment.write(*deployment.happens("p-1", opened("ada")))
    projecting = running()
    reaches(projecting, lambda: deployment.select("SELECT client FROM us_holder") == [("ada",)])
    events = deployment.topics.events("position")
    ends = "SELECT partition, next_offset FROM projection_position WHERE topic = ?"
    spans = {
        Partition(events, number): Span(end, end + 1)
        for number, end in deployment.select(ends, events)
    }
    another = open_database(deployment.url)
    (us_holder,) = (p for p in projections() if p.name == "us_holder")
    Applier(another, us_holder, deployment.topics).apply(Batch([], spans))
    another.dispose()

    deployment.write(*deployment.happens("p-1", PositionTransferred(client="bob")))

    with pytest.raises(VerdictError, match="another runner advances projection us_holder v1"):
        reaches(projecting, lambda: deployment.select("SELECT client FROM us_holder") == [("bob",)])
    assert deployment.select("SELECT client FROM us_holder") == [("ada",)]


def test_carried_states_and_the_bytes_of_events_arrive_whole(
    deployment: Deployment, running: Callable[..., Projecting]
) -> None:
    def holding(name: str) -> bytes:
        position = {"id": name, "client": name, "ticker": "FB", "amount": 1, "exchange": "NYSE"}
        return json.dumps(position).encode()

    topic = deployment.topics.share_holders
    deployment.write((topic, "ada", holding("ada")), (topic, "bob", holding("bob")))
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


class TestOnPostgresql:
    """The same on PostgreSQL, once."""

    @pytest.fixture
    def url(self, postgresql: Server) -> Iterator[str]:
        with postgresql.database() as url:
            yield url

    def test_a_database_that_goes_away_is_said_and_followed_again(
        self, deployment: Deployment, running: Callable[[], Projecting], postgresql: Server
    ) -> None:
        count = "SELECT count(*) FROM us_holder"
        names = [f"ada-{number}" for number in range(MANY)]
        opening = [event for n in names for event in deployment.happens(f"p-{n}", opened(n))]
        deployment.write(*opening)
        first = running()
        reaches(first, lambda: deployment.select(count) == [(MANY,)])

        postgresql.execute(LET_GO, make_url(deployment.url).database or "")
        deployment.write(*deployment.happens("p-ada-0", PositionClosed()))
        with pytest.raises(Unreachable, match=r"the database of the read side failed: .*terminat"):
            reaches(first, lambda: deployment.select(count) == [(MANY - 1,)])
        first.stop()

        second = running()
        reaches(second, lambda: deployment.select(count) == [(MANY - 1,)])
        assert deployment.select("SELECT * FROM projection_parked") == []
