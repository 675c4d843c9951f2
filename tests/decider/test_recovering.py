"""A recovery as a whole, where it refuses; in tests/e2e one succeeds."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

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
from tests.decision.desk import PLACE, command
from verdict.configuration.loading import load_settings
from verdict.configuration.settings import Settings
from verdict.decider.generation import Generation
from verdict.decider.recovery.folding import BrokenHistory
from verdict.decider.recovery.recovering import RecoveryStep, recover
from verdict.decision.handle import Limits
from verdict.decision.received import dead_letter
from verdict.errors import VerdictError
from verdict.event_log.copied_decisions import copied_decisions
from verdict.event_log.decisions import read_decisions
from verdict.event_log.passing import Wish, read_log, see_that_records_are_there
from verdict.exactly_once.checkpoint import FRESH
from verdict.exactly_once.decider_query import decider_query
from verdict.exactly_once.markers import read_marker
from verdict.foundation.foundation import Foundation
from verdict.kafka.access import Kafka
from verdict.kafka.topic_check import TopicAdmin
from verdict.local.broker import EmbeddedBroker
from verdict.model.life_cycle import LifeCycle
from verdict.model.source import Source
from verdict.operator.batch import ShardBatch
from verdict.operator.shard_state import FOR_EVER, DictState
from verdict.wire.cloud_events import dead_letter_headers
from verdict.wire.decision import Lost
from verdict.wire.headers import joined, pairs
from verdict.wire.records import encode

NewGround = Callable[[Settings], Foundation]
COMPACTED_S = 60
Headers = Sequence[tuple[str, str | bytes | None]]
CANCELLED = {"type": "CancelOrder"}


class Compacted(NamedTuple):
    """Books of which Kafka lost some, the first place behind the hole, a generation of before."""

    books: Books
    place: Source
    before: int


@pytest.fixture
def new_ground(spark: SparkSession, broker: EmbeddedBroker) -> NewGround:
    """Return what makes the topics of a deployment, and what its recovery stands on."""

    def made(settings: Settings) -> Foundation:
        servers = settings.bootstrap_servers or broker.bootstrap_servers
        TopicAdmin({"bootstrap.servers": servers}, settings.topics).create_missing()
        return Foundation(
            spark=spark,
            kafka=Kafka(settings={"bootstrap.servers": servers}),
            source={"kafka.bootstrap.servers": servers},
            partitions=settings.partitions,
            scratch=settings.data_dir,
            servers=servers,
            marker=None,
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

    with pytest.raises(BrokenHistory, match="histories in Kafka do not hold together") as refused:
        recover(ground, settings)

    named = strange, tombstone, "--skip TOPIC:PARTITION:OFFSET"
    assert [text for text in named if text not in str(refused.value)] == []
    assert read_marker(ground.kafka, decider_query(topics, 2), wait=True).marker is None


@pytest.mark.long
@pytest.mark.proves("C-17")
def test_letters_of_others_are_no_decisions_when_the_marker_is_lost(
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

    marker = read_marker(ground.kafka, decider_query(topics, 2), wait=True).marker
    assert marker is not None
    assert marker.offsets[commands] == [2]
    assert sum(state.sequence for state in marker.shard_states) == 1


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


@pytest.mark.proves("C-17")
@pytest.mark.long
def test_events_that_nobody_has_are_named_until_somebody_accepts_that(
    new_ground: NewGround, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    books = Books(broker, "nowhere", tmp_path / "data")
    books.ask("order", "o-1", BOUGHT)
    books.ask("order", "o-2", BOUGHT)
    books.settle()
    ground, settings, topic = (
        new_ground(books.settings),
        books.settings,
        books.topics.events("order"),
    )
    books.drop(topic, books.partition("o-1"), 1)
    books.close()
    (settings.data_dir / "verdict.db").unlink()

    with pytest.raises(VerdictError, match=f"no archive has them: {topic}:. from offset 0 to 0;"):
        recover(ground, settings)
    accepted = Wish(accept_lost=True, who="ada", why="the disk is gone", at=5)
    assert recover(ground, settings, wish=accepted).aggregates == 2
    again = recover(ground, settings)  # it is on record
    assert again.aggregates == 2
    entries = snapshots(ground, settings, again.generation)
    kept = {key[-3:]: decode_snapshot("order", one) for key, one in entries.items()}
    assert {name: (one.version, one.life_cycle) for name, one in kept.items()} == {
        b"o-1": (1, LifeCycle.DELETED),
        b"o-2": (1, LifeCycle.ACTIVE),
    }


@pytest.mark.proves("C-17")
@pytest.mark.long
def test_read_models_forget_what_the_decider_has_for_deleted(
    new_ground: NewGround, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """They had shown it before the archive lost it, too."""
    books = Books(broker, "forgotten", tmp_path / "data")
    books.ask("order", "o-1", BOUGHT)
    books.ask("order", "o-2", BOUGHT)
    books.settle()
    books.drop(books.topics.events("order"), books.partition("o-1"), 1)
    with books.read_side.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM event_archive_v1 WHERE aggregate_id = 'o-1'")
    ground = new_ground(books.settings)

    accepted = Wish(accept_lost=True, who="ada", why="the disk is gone", at=5)
    recover(ground, books.settings, wish=accepted)
    recover(ground, books.settings)
    copied_decisions(books.options, books.topics, books.read_side.engine)
    books.project()

    shown = books.read_side.select("SELECT id, version FROM order_state")
    reached = books.read_side.select("SELECT aggregate_id, version FROM order_state_version")
    decided = read_decisions(books.options, books.topics)
    books.close()
    assert (shown, sorted(reached)) == ([("o-2", 1)], [("o-1", 1), ("o-2", 1)])
    assert [one.lost for one in decided if one.lost] == [Lost("order", "o-1", 1)]


@pytest.mark.proves("C-17")
def test_nothing_is_passed_over_where_there_is_no_record(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """It would go on record for ever."""
    books = Books(broker, "norecord", tmp_path / "data")
    books.ask("order", "o-1", BOUGHT, {"type": "ModifyOrder", "quantity": 5})
    books.settle()
    topic, kafka = books.topics.events("order"), Kafka(settings=books.options)
    [(first, _), (last, _)] = books.records(topic, "o-1")
    books.drop(topic, books.partition("o-1"), last)
    log = read_log(kafka, [], [topic])
    places = [Source(topic, books.partition("o-1"), one) for one in (first, last, last + 1)]
    archived = replace(log, archived={topic: [last] * PARTITIONS})
    books.close()

    see_that_records_are_there(kafka, archived, places[:2])
    with pytest.raises(VerdictError, match=f"Kafka has dropped {places[0]}"):
        see_that_records_are_there(kafka, log, places)
    with pytest.raises(VerdictError, match=f"there is no record at {places[2]}: Kafka uses"):
        see_that_records_are_there(kafka, archived, places)


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.long
def test_a_good_event_that_is_passed_over_is_lost_or_stays(
    new_ground: NewGround, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Readers have seen its version, which is never given again, and a refusal changes nothing."""
    books = Books(broker, "goodone", tmp_path / "data")
    books.ask("order", "o-1", BOUGHT, {"type": "ModifyOrder", "quantity": 5})
    books.ask("order", "o-2", BOUGHT)
    books.settle()
    ground, topic = new_ground(books.settings), books.topics.events("order")
    before = recover(ground, books.settings)
    place = Source(topic, books.partition("o-1"), books.records(topic, "o-1")[-1][0])
    skip = Wish(places=[place], who="ada", why="as it says", at=5)

    with pytest.raises(BrokenHistory, match=r"o-1: .* tells of version 2 .* end with version 1"):
        recover(ground, books.settings, wish=skip)
    again = recover(ground, books.settings)
    both = (seeded(ground, books.settings, one.generation) for one in (before, again))
    assert next(both) == next(both)
    recovered = recover(
        ground, books.settings, wish=replace(skip, accept_lost=True, why="as I say")
    )
    copied_decisions(books.options, books.topics, books.read_side.engine)
    books.project()

    found = snapshots(ground, books.settings, recovered.generation).items()
    [entry] = [value for key, value in found if b"o-1" in key]
    assert decode_snapshot("order", entry)[:2] == (2, None)
    assert books.read_side.select("SELECT id, version FROM order_state") == [("o-2", 1)]
    decided = read_decisions(books.options, books.topics)
    books.close()
    said = [(one.why, one.lost) for one in decided]
    assert said == [("as I say", None), ("as I say", Lost("order", "o-1", 2))]


@pytest.mark.proves("C-17")
@pytest.mark.long
def test_what_is_accepted_of_one_aggregate_is_of_no_other_and_of_nothing_later(
    new_ground: NewGround, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Be it on the same partition, and before the end that events had then."""
    books = Books(broker, "ofone", tmp_path / "data")
    others = (f"o-{number}" for number in count(2))
    other = next(one for one in others if books.partition(one) == books.partition("o-1"))
    books.ask("order", "o-1", BOUGHT)
    books.ask("order", other, BOUGHT, {"type": "ModifyOrder", "quantity": 5})
    books.settle()
    ground, topic = new_ground(books.settings), books.topics.events("order")
    books.drop(topic, books.partition("o-1"), 2)

    def lose(name: str, version: int) -> None:
        with books.read_side.engine.begin() as connection:
            connection.exec_driver_sql(
                "DELETE FROM event_archive_v1 WHERE aggregate_id = ? AND version = ?",
                (name, version),
            )

    lose("o-1", 1)
    accepted = Wish(accept_lost=True, who="ada", why="o-1 is gone", at=5)
    recover(ground, books.settings, wish=accepted)
    lose(other, 1)
    with pytest.raises(BrokenHistory, match=f"'{other}'.* version 2 follows version 0"):
        recover(ground, books.settings)
    more = Wish(accept_lost=True, who="bea", why="so is the other", at=6)
    recover(ground, books.settings, wish=more)
    decided = read_decisions(books.options, books.topics)
    books.close()

    assert [(one.who, one.lost) for one in decided if one.lost] == [
        ("ada", Lost("order", "o-1", 1)),
        ("bea", Lost("order", other, 2)),
    ]
    assert [one for one in decided if one.source.offset == one.until and not one.lost] == []


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.long
def test_an_acceptance_that_comes_to_no_end_leaves_nothing_behind(
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
    elsewhere = SecretStr(f"sqlite:///{tmp_path / 'away.db'}")
    away = settings.model_copy(update={"database_url": elsewhere})
    accepted = Wish(accept_lost=True, who="bob", why="the wrong database", at=5)

    def killed(step: RecoveryStep) -> None:
        if step is RecoveryStep.SEEDED:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recover(ground, away, wish=accepted, on_step=killed)
    assert read_decisions(books.options, books.topics) == []
    after = recover(ground, settings)
    books.close()

    assert seeded(ground, settings, after.generation) == seeded(ground, settings, before.generation)


@pytest.mark.proves("C-17")
@pytest.mark.thorough
def test_events_that_kafka_has_compacted_come_from_the_archive_or_stay_a_hole_on_record(
    new_ground: NewGround, compacted: Compacted
) -> None:
    """In no case is an aggregate set back to a version that it had: its next would be a second."""
    books, place, before = compacted
    ground, settings = new_ground(books.settings), books.settings
    after = recover(ground, settings)
    was, found = (snapshots(ground, settings, number) for number in (before, after.generation))
    assert {key: found[key] for key in was} == was

    books.close()
    (settings.data_dir / "verdict.db").unlink()
    with pytest.raises(BrokenHistory, match=f"{place}, .* version 3 follows version 0"):
        recover(ground, settings)
    skip = Wish(places=[place], who="ada", why="as it says", at=5)
    with pytest.raises(BrokenHistory, match=r"tells of version 3 .* no event of it is there"):
        recover(ground, settings, wish=skip)
    accepted = Wish(accept_lost=True, who="ada", why="nobody has them", at=5)
    assert recover(ground, settings, wish=accepted).aggregates == after.aggregates
    again = recover(ground, settings)  # it is on record
    [entry] = [snapshots(ground, settings, again.generation)[key] for key in was if b"o-1" in key]
    kept = decode_snapshot("order", entry)
    assert (kept.version, kept.life_cycle) == (3, LifeCycle.DELETED)


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
        [(offset, _)] = books.records(topic, "o-1")
        yield Compacted(books, Source(topic, books.partition("o-1"), offset), before.generation)


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


def snapshots(ground: Foundation, settings: Settings, generation: int) -> dict[bytes, bytes]:
    """Return the snapshots of a seed by their keys."""
    rows = seeded(ground, settings, generation)
    return {bytes(row.key): bytes(row.entry) for row in rows if row.keep_ms == FOR_EVER}


def seeded(ground: Foundation, settings: Settings, generation: int) -> list[Row]:
    """Return the entries of a seed, sorted; a response's place is in none of them."""
    seeds = Generation(settings.data_dir, generation).seeds(FRESH)
    entries = ground.spark.read.parquet(*(file for _, file in seeds))
    return sorted(entries.collect(), key=lambda row: bytes(row.key))


def settings_of(name: str, data_dir: Path) -> Settings:
    """Return settings with few partitions, each of which is a task of Spark."""
    return load_settings(
        APPLICATION, deployment=name, topic_prefix=f"{name}-", data_dir=data_dir, partitions=1
    )


def write(ground: Foundation, topic: str, value: bytes | None, headers: Headers = ()) -> str:
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
