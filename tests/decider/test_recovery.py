"""A recovery as a whole, where it refuses; in tests/e2e one succeeds."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide some
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from pydantic import SecretStr
from pyspark.sql import Row, SparkSession

from tests.application import APPLICATION, decode_snapshot
from tests.audit.books import PARTITIONS, Books
from tests.audit.books import PLACE as BOUGHT
from tests.decide.desk import PLACE, command
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
from verdict.streaming.event_log.skips import SkipRequest, read_log, require_records
from verdict.streaming.exactly_once.checkpoint import FRESH
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.wire.cloud_events import dead_letter_headers
from verdict.wire.command_record import dead_letter
from verdict.wire.headers import joined, pairs
from verdict.wire.records import encode
from verdict.wire.skip_record import DamagedAggregate, Kind
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.decide.snapshot import Snapshot
from verdict.write_side.decider_query.generation import Generation
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.recovery.recovery import RecoveryStep, recover
from verdict.write_side.recovery.seeding import DamagedHistoriesError, UnusableRecordsError
from verdict.write_side.state.shard_state import FOR_EVER, DictState, named

NewGround = Callable[[Settings], Runtime]
COMPACTED_S = 60
Headers = Sequence[tuple[str, str | bytes | None]]
CANCELLED = {"type": "CancelOrder"}
RESPONSE_TELLS = "its last response reports version 1, and events end with version 0"


class Compacted(NamedTuple):
    """Books of which Kafka lost some, and a generation from before that."""

    books: Books
    before: int


@pytest.fixture
def new_ground(spark: SparkSession, broker: EmbeddedBroker) -> NewGround:
    """Return what makes the topics of a deployment, and what its recovery stands on."""

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


def test_there_is_nothing_to_recover_before_the_first_start(
    new_ground: NewGround, tmp_path: Path
) -> None:
    settings = settings_of("fresh", tmp_path)

    with pytest.raises(VerdictError, match="there is nothing to recover"):
        recover(new_ground(settings), settings)


@pytest.mark.proves("C-17")
@pytest.mark.long
def test_what_verdict_did_not_write_is_named_and_nothing_goes_on_from_there(
    new_ground: NewGround, tmp_path: Path
) -> None:
    settings = settings_of("strange", tmp_path)
    topics, ground = settings.topics, new_ground(settings)
    strange = write(ground, topics.events("order"), b"garbage")
    tombstone = write(ground, topics.responses("order"), None)

    with pytest.raises(UnusableRecordsError, match=f"1 records cannot be used: {tombstone}"):
        recover(ground, settings)
    with pytest.raises(DamagedHistoriesError, match=rf"order 'order-1' .*\(at {strange}\)"):
        recover(ground, settings, wish=wish(skip=Source(topics.responses("order"), 0, 0)))

    assert read_progress(ground.kafka, decider_query(topics, 2), wait=True).progress is None
    assert read_skips({"bootstrap.servers": ground.servers}, topics) == []


@pytest.mark.long
@pytest.mark.proves("C-17")
def test_letters_of_others_are_no_decisions_when_the_progress_record_is_lost(
    new_ground: NewGround, tmp_path: Path
) -> None:
    """What was decided last is found, and what is undecided behind it is decided yet."""
    settings = settings_of("letters", tmp_path)
    topics, ground = settings.topics, new_ground(settings)
    commands = topics.commands("order")
    one = command(PLACE).record
    records = [one, one._replace(value=b"\0{", key=b""), one]
    sent = [record._replace(source=Source(commands, 0, n)) for n, record in enumerate(records)]
    for record in sent:
        write(ground, commands, record.value)
    batch = ShardBatch(topics, Limits(), DictState())
    for out in batch.decide(sent[:2]):
        write(ground, out.topic, out.value, pairs(out.headers))
    ours = dead_letter_headers(dead_letter(sent[2], "forged"))
    for value in (b"garbage", None, encode(dead_letter(sent[2], "of another service"))):
        write(ground, topics.dead_letters, value)
    far = sent[2]._replace(source=Source(commands, 2**40, 2))
    write(ground, topics.dead_letters, encode(dead_letter(far, "")), pairs(joined(ours)))

    recover(ground, settings)

    progress = read_progress(ground.kafka, decider_query(topics, 2), wait=True).progress
    assert progress is not None
    assert progress.offsets[commands] == [2]
    assert sum(state.sequence for state in progress.shard_states) == 1


@pytest.mark.long
@pytest.mark.proves("C-17")
def test_events_that_kafka_has_dropped_come_from_the_archive(
    new_ground: NewGround, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Whole aggregates of which Kafka has nothing left, too."""
    books = Books(broker, "archived", tmp_path / "data")
    books.ask("order", "o-1", BOUGHT, CANCELLED)
    books.ask("order", "o-2", BOUGHT)
    books.settle()
    ground, settings = new_ground(books.settings), books.settings
    before = recover(ground, settings)

    for number, (_, end) in enumerate(books.bounds(books.topics.events("order"))):
        books.drop(books.topics.events("order"), number, end)
    after = recover(ground, settings)
    books.close()

    assert (before.events, before.aggregates) == (after.events, after.aggregates) == (3, 2)
    assert seeded(ground, settings, after.generation) == seeded(ground, settings, before.generation)
    folder = Generation(settings.data_dir, after.generation).folder
    assert not [*folder.glob("archived*")]


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.long
def test_an_aggregate_without_its_events_is_quarantined_until_they_are_back(
    new_ground: NewGround, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Only on the word of an operator, on record; the others continue."""
    books = Books(broker, "nowhere", tmp_path / "data")
    books.ask("order", "o-1", BOUGHT)
    books.ask("order", "o-2", BOUGHT)
    books.settle()
    ground, settings = new_ground(books.settings), books.settings
    before = recover(ground, settings)
    books.drop(books.topics.events("order"), books.partition("o-1"), 1)
    away = without_archive(settings, tmp_path)

    with pytest.raises(DamagedHistoriesError, match=r"1 aggregates .*: order 'o-1' from version 1"):
        recover(ground, away)
    assert recover(ground, away, wish=wish(quarantine=True)).quarantined == 1
    again = recover(ground, away)  # it is on record
    kept = decoded(ground, settings, again.generation)
    assert (again.aggregates, again.quarantined, again.lifted) == (2, 0, 0)
    assert kept == {"o-1": Snapshot(1, quarantined=True), "o-2": kept["o-2"]}
    assert kept["o-2"].life_cycle is LifeCycle.ACTIVE

    after = recover(ground, settings)
    decided = read_skips(books.options, books.topics)
    books.close()
    assert after.lifted == 1
    both = (snapshots(ground, settings, one.generation) for one in (before, after))
    assert next(both) == next(both)
    of_it = DamagedAggregate("order", "o-1", 1, 1, RESPONSE_TELLS)
    assert [(one.kind, one.operator, one.aggregate) for one in decided] == [
        (Kind.QUARANTINED, "ada", of_it),
        (Kind.LIFTED, "verdict", of_it),
    ]


@pytest.mark.proves("C-17")
def test_nothing_is_passed_over_where_there_is_no_record(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """It would go on record forever."""
    books = Books(broker, "norecord", tmp_path / "data")
    books.ask("order", "o-1", BOUGHT, {"type": "ModifyOrder", "quantity": 5})
    books.settle()
    topic, kafka = books.topics.events("order"), KafkaConfig(settings=books.options)
    [(first, _), (last, _)] = books.records(topic, "o-1")
    books.drop(topic, books.partition("o-1"), last)
    log = read_log(kafka, [], [topic])
    places = [Source(topic, books.partition("o-1"), one) for one in (first, last, last + 1)]
    books.close()

    stretches = [(one, one.offset + 1) for one in places]
    require_records(kafka, log, stretches[:2])
    with pytest.raises(VerdictError, match=f"there is no record at {places[2]}: Kafka uses"):
        require_records(kafka, log, stretches)


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.long
def test_a_skipped_event_quarantines_its_aggregate(
    new_ground: NewGround, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Readers have seen its version, which is never given again."""
    books = Books(broker, "goodone", tmp_path / "data")
    books.ask("order", "o-1", BOUGHT, {"type": "ModifyOrder", "quantity": 5})
    books.ask("order", "o-2", BOUGHT)
    books.settle()
    ground, topic = new_ground(books.settings), books.topics.events("order")
    place = Source(topic, books.partition("o-1"), books.records(topic, "o-1")[-1][0])

    recovered = recover(ground, books.settings, wish=wish(skip=place))

    kept = decoded(ground, books.settings, recovered.generation)
    decided = read_skips(books.options, books.topics)
    books.close()
    assert kept["o-1"] == Snapshot(2, quarantined=True)
    assert kept["o-2"].version == 1
    assert [(one.kind, one.operator, one.source) for one in decided] == [
        (Kind.SKIPPED, "ada", place),
        (Kind.QUARANTINED, "ada", place),
    ]


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.long
def test_a_quarantine_that_comes_to_no_end_leaves_nothing_behind(
    new_ground: NewGround, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """The archive, which was only away, has all: none of it may be given a second time."""
    books = Books(broker, "noend", tmp_path / "data")
    books.ask("order", "o-1", BOUGHT, {"type": "ModifyOrder", "quantity": 5})
    books.settle()
    ground, settings = new_ground(books.settings), books.settings
    before = recover(ground, settings)
    for number, (_, end) in enumerate(books.bounds(books.topics.events("order"))):
        books.drop(books.topics.events("order"), number, end)
    away = without_archive(settings, tmp_path)

    def killed(step: RecoveryStep) -> None:
        if step is RecoveryStep.SEEDED:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recover(ground, away, wish=wish(quarantine=True), on_step=killed)
    assert read_skips(books.options, books.topics) == []
    after = recover(ground, settings)
    books.close()

    assert seeded(ground, settings, after.generation) == seeded(ground, settings, before.generation)


@pytest.mark.proves("C-17")
@pytest.mark.thorough
def test_events_that_kafka_has_compacted_come_from_the_archive_or_quarantine_their_aggregate(
    new_ground: NewGround, compacted: Compacted
) -> None:
    """In no case is an aggregate set back to a version that it had: its next would be a second."""
    books, before = compacted
    ground, settings = new_ground(books.settings), books.settings
    after = recover(ground, settings)
    was, found = (snapshots(ground, settings, number) for number in (before, after.generation))
    assert {key: found[key] for key in was} == was

    books.close()
    (settings.data_dir / "verdict.db").unlink()
    with pytest.raises(DamagedHistoriesError, match=r"'o-1' from version 1 .* follows version 0"):
        recover(ground, settings)
    assert recover(ground, settings, wish=wish(quarantine=True)).aggregates == after.aggregates
    again = recover(ground, settings)  # it is on record
    assert decoded(ground, settings, again.generation)["o-1"] == Snapshot(1, quarantined=True)


@pytest.fixture
def compacted(new_ground: NewGround, tmp_path: Path) -> Iterator[Compacted]:
    """Of o-1 Kafka has the last event alone, at the place; the archive has all."""
    with EmbeddedBroker(tmp_path / "kafka", properties={"log.cleaner.backoff.ms": "100"}) as kafka:
        books = Books(kafka, "compacted", tmp_path / "data")
        books.ask("order", "o-1", BOUGHT, {"type": "ModifyOrder", "quantity": 5}, CANCELLED)
        books.ask("order", "o-2", BOUGHT)
        books.settle()
        before = recover(new_ground(books.settings), books.settings)
        topic = books.topics.events("order")
        compact(books, topic, "o-1")
        yield Compacted(books, before.generation)


def compact(books: Books, topic: str, name: str) -> None:
    """Let Kafka keep the last event of each aggregate alone, as somebody's wrong setting does."""
    admin = AdminClient({**books.options})
    wrong = {
        "cleanup.policy": "compact", "segment.ms": "100", "max.compaction.lag.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
    }  # fmt: skip
    told = [ConfigEntry(*one, incremental_operation=AlterConfigOpType.SET) for one in wrong.items()]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=told)
    admin.incremental_alter_configs([resource])[resource].result(30)
    others = (f"o-{number}" for number in count(3))
    rolling = [next(one for one in others if books.partition(one) == n) for n in range(PARTITIONS)]
    time.sleep(0.2)  # a segment's time, behind which the next record begins another
    for other in rolling:
        books.ask("order", other, BOUGHT)
    books.settle()
    deadline = time.monotonic() + COMPACTED_S
    while len(books.records(topic, name)) > 1:
        assert time.monotonic() < deadline, "nothing is compacted"
        time.sleep(0.1)


def without_archive(settings: Settings, folder: Path) -> Settings:
    """Return settings with a database that is not there."""
    elsewhere = SecretStr(f"sqlite:///{folder / 'away.db'}")
    return settings.model_copy(update={"database_url": elsewhere})


def wish(skip: Source | None = None, *, quarantine: bool = False) -> SkipRequest:
    """Return what an operator asks for."""
    places = [(skip, skip.offset + 1)] if skip else []
    return SkipRequest(
        places=places, quarantine=quarantine, operator="ada", reason="the disk is gone", at=5
    )


def decoded(ground: Runtime, settings: Settings, generation: int) -> dict[str, Snapshot[Any]]:
    """Return the orders of a seed by their ids."""
    found = snapshots(ground, settings, generation)
    return {named(key)[1]: decode_snapshot("order", value) for key, value in found.items()}


def snapshots(ground: Runtime, settings: Settings, generation: int) -> dict[bytes, bytes]:
    """Return the snapshots of a seed by their keys."""
    rows = seeded(ground, settings, generation)
    return {bytes(row.key): bytes(row.entry) for row in rows if row.keep_ms == FOR_EVER}


def seeded(ground: Runtime, settings: Settings, generation: int) -> list[Row]:
    """Return the entries of a seed, sorted; a response's place is in none of them."""
    seeds = Generation(settings.data_dir, generation).seeds(FRESH)
    entries = ground.spark.read.parquet(*(file for _, file in seeds))
    return sorted(entries.collect(), key=lambda row: bytes(row.key))


def settings_of(name: str, data_dir: Path) -> Settings:
    """Return settings with few partitions, each of which is a task of Spark."""
    return load_settings(
        APPLICATION, deployment=name, topic_prefix=f"{name}-", data_dir=data_dir, partitions=1
    )


def write(ground: Runtime, topic: str, value: bytes | None, headers: Headers = ()) -> str:
    """Write a record behind everybody's back; return its place."""
    written: list[Message] = []
    producer = Producer({"bootstrap.servers": ground.servers})
    producer.produce(
        topic,
        value,
        b"order-1",
        headers=[*headers],
        on_delivery=lambda _, message: written.append(message),
    )
    assert producer.flush(30) == 0
    return f"{topic}:0:{written[0].offset()}"
