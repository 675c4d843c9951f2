"""A recovery as a whole, where it refuses; in tests/e2e one succeeds."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from pydantic import SecretStr
from pyspark.sql import Row, SparkSession

from tests.application import APPLICATION, decode_snapshot
from tests.audit.books import PLACE as BOUGHT
from tests.audit.books import Books
from tests.kit.deployment import name_of
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import VerdictError
from verdict.model.command import LifeCycle
from verdict.model.source import Source
from verdict.service.bootstrap import Runtime
from verdict.settings.load import load_settings
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import read_skips
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.checkpoint import FRESH
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.wire.skip_record import DamagedAggregate, Kind
from verdict.write_side.decide.snapshot import Snapshot
from verdict.write_side.decider_query.generation import Generation
from verdict.write_side.recovery.recovery import RecoveredState, RecoveryStep, recover
from verdict.write_side.recovery.seeding import DamagedHistoriesError, UnusableRecordsError
from verdict.write_side.state.shard_state import FOR_EVER

NewGround = Callable[[Settings], Runtime]
MODIFIED = {"type": "ModifyOrder", "quantity": 5}
RESPONSE_TELLS = "its last response reports version 1, and events end with version 0"
QUARANTINE = SkipRequest(quarantine=True, operator="ada", reason="the disk is gone", at=5)


@pytest.fixture
def new_ground(spark: SparkSession, broker: EmbeddedBroker) -> NewGround:
    """Return what makes the topics of a deployment, and the context of its recovery."""

    def made(settings: Settings) -> Runtime:
        servers = settings.bootstrap_servers or broker.bootstrap_servers
        TopicAdmin({"bootstrap.servers": servers}, settings.topics).create_missing()
        return Runtime(
            spark=spark,
            kafka=KafkaConfig(settings={"bootstrap.servers": servers}),
            source={"kafka.bootstrap.servers": servers},
            partitions=settings.partitions,
            scratch=settings.data_dir,
            servers=servers,
            progress=None,
            broker=None,
        )

    return made


@pytest.fixture
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings with few partitions, each of which is a task of Spark."""
    name = name_of(request, 60)
    return load_settings(
        APPLICATION, deployment=name, topic_prefix=f"{name}-", data_dir=tmp_path, partitions=1
    )


class RecoveredBooks(Books):
    """Books that a recovery reads."""

    new_ground: NewGround

    def recover(self, *, archived: bool = True, **more: Any) -> RecoveredState:
        """Recover, perhaps with a database that is not there."""
        settings = self.settings
        if not archived:
            elsewhere = SecretStr(f"sqlite:///{settings.data_dir / 'away.db'}")
            settings = settings.model_copy(update={"database_url": elsewhere})
        return recover(self.new_ground(settings), settings, **more)

    def drop_events(self) -> None:
        topic = self.topics.events("order")
        for number, (_, end) in enumerate(self.bounds(topic)):
            self.drop(topic, number, end)

    def seeded(self, recovered: RecoveredState) -> list[Row]:
        """Return the entries of a seed, sorted; a response's place is in none of them."""
        seeds = Generation(self.settings.data_dir, recovered.generation).seeds(FRESH)
        spark = self.new_ground(self.settings).spark
        entries = spark.read.parquet(*(file for _, file in seeds))
        return sorted(entries.collect(), key=lambda row: bytes(row.key))

    def orders(self, recovered: RecoveredState) -> dict[str, Snapshot[Any]]:
        """Return the orders of a seed by their ids."""
        return {
            bytes(row.key).rpartition(b"\0")[2].decode(): decode_snapshot("order", bytes(row.entry))
            for row in self.seeded(recovered)
            if row.keep_ms == FOR_EVER
        }


@pytest.fixture
def books(
    request: pytest.FixtureRequest, new_ground: NewGround, broker: EmbeddedBroker, tmp_path: Path
) -> Iterator[RecoveredBooks]:
    """The books of two orders, one of which was modified."""
    found = RecoveredBooks(broker, name_of(request, 60), tmp_path / "data")
    found.new_ground = new_ground
    found.ask("order", "o-1", BOUGHT, MODIFIED)
    found.ask("order", "o-2", BOUGHT)
    found.settle()
    yield found
    found.close()


def test_there_is_nothing_to_recover_before_the_first_start(
    new_ground: NewGround, settings: Settings
) -> None:
    with pytest.raises(VerdictError, match="there is nothing to recover"):
        recover(new_ground(settings), settings)


@pytest.mark.proves("C-17")
@pytest.mark.long
def test_what_verdict_did_not_write_is_named_and_nothing_goes_on_from_there(
    new_ground: NewGround, settings: Settings
) -> None:
    topics, ground = settings.topics, new_ground(settings)
    strange = write(ground, topics.events("order"), b"garbage")
    tombstone = write(ground, topics.responses("order"), None)
    skip = Source(topics.responses("order"), 0, 0)

    with pytest.raises(UnusableRecordsError, match=f"1 records cannot be used: {tombstone}"):
        recover(ground, settings)
    with pytest.raises(DamagedHistoriesError, match=rf"order 'order-1' .*\(at {strange}\)"):
        recover(ground, settings, wish=skipping(skip))

    assert read_progress(ground.kafka, decider_query(topics, 2), wait=True).progress is None
    assert read_skips(ground.kafka.settings, topics) == []


@pytest.mark.long
@pytest.mark.proves("C-17", "C-04")
def test_events_that_kafka_has_dropped_come_from_the_archive(books: RecoveredBooks) -> None:
    """Whole aggregates of which Kafka has nothing left, too; a killed recovery changes nothing."""
    before = books.recover()
    books.drop_events()

    def killed(step: RecoveryStep) -> None:
        if step is RecoveryStep.SEEDED:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        books.recover(archived=False, wish=QUARANTINE, on_step=killed)
    assert read_skips(books.options, books.topics) == []
    after = books.recover()

    assert (before.events, before.aggregates) == (after.events, after.aggregates) == (3, 2)
    assert books.seeded(after) == books.seeded(before)
    folder = Generation(books.settings.data_dir, after.generation).folder
    assert not [*folder.glob("archived*")]


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.long
def test_an_aggregate_without_its_events_is_quarantined_until_they_are_back(
    books: RecoveredBooks,
) -> None:
    """Only on the word of an operator, on record; the others continue."""
    before = books.recover()
    books.drop(books.topics.events("order"), books.partition("o-2"), 1)

    with pytest.raises(DamagedHistoriesError, match=r"1 aggregates .*: order 'o-2' from version 1"):
        books.recover(archived=False)
    assert books.recover(archived=False, wish=QUARANTINE).quarantined == 1
    again = books.recover(archived=False)  # it is on record
    kept = books.orders(again)
    assert (again.aggregates, again.quarantined, again.lifted) == (2, 0, 0)
    assert kept == {"o-2": Snapshot(1, quarantined=True), "o-1": kept["o-1"]}
    assert kept["o-1"].life_cycle is LifeCycle.ACTIVE

    after = books.recover()
    assert after.lifted == 1
    assert books.orders(after) == books.orders(before)
    of_it = DamagedAggregate("order", "o-2", 1, 1, RESPONSE_TELLS)
    decided = read_skips(books.options, books.topics)
    assert [(one.kind, one.operator, one.aggregate) for one in decided] == [
        (Kind.QUARANTINED, "ada", of_it),
        (Kind.LIFTED, "verdict", of_it),
    ]


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.long
def test_a_skipped_event_quarantines_its_aggregate(books: RecoveredBooks) -> None:
    """Readers have seen its version, which is never given again."""
    topic = books.topics.events("order")
    place = Source(topic, books.partition("o-1"), books.records(topic, "o-1")[-1][0])

    recovered = books.recover(wish=skipping(place))

    kept = books.orders(recovered)
    assert kept["o-1"] == Snapshot(2, quarantined=True)
    assert kept["o-2"].version == 1
    decided = read_skips(books.options, books.topics)
    assert [(one.kind, one.operator, one.source) for one in decided] == [
        (Kind.SKIPPED, "ada", place),
        (Kind.QUARANTINED, "ada", place),
    ]


def skipping(place: Source) -> SkipRequest:
    """Return what an operator asks for."""
    return SkipRequest(
        places=[(place, place.offset + 1)], operator="ada", reason="the disk is gone", at=5
    )


def write(ground: Runtime, topic: str, value: bytes | None) -> str:
    """Write a record as a program of others does; return its place."""
    written: list[Message] = []
    producer = Producer({"bootstrap.servers": ground.servers})
    producer.produce(
        topic, value, b"order-1", on_delivery=lambda _, message: written.append(message)
    )
    assert producer.flush(30) == 0
    return f"{topic}:0:{written[0].offset()}"
