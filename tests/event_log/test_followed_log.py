"""G-01: a read side goes on in the log that it was filled from, or says which one that is."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pydantic import SecretStr
from sqlalchemy import Engine, text

from tests.application import APPLICATION
from verdict.adapters.kafka import log_identity
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import (
    DifferentLogError,
    Identities,
    Identity,
    beyond,
    require_same_ids,
)
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables import position, source_topics
from verdict.read_side.tables.row_states import FOLLOWER
from verdict.read_side.tables.same_log import bind_to_log, require_same_database
from verdict.read_side.tables.same_topics import remembered
from verdict.settings.load import load_settings
from verdict.wire.partitions import TopicPartition

TOPIC = "followed-log"


def test_a_position_behind_the_end_is_named_with_both_numbers() -> None:
    reached = {TopicPartition("a", 0): 5, TopicPartition("a", 1): 7}

    assert beyond(reached, {"a": [5, 6]}) == [
        "a:1 was read up to offset 7, and Kafka has it up to 6 only"
    ]
    assert beyond(reached, {"a": [5]}) == [
        "a:1 was read up to offset 7, and Kafka has it up to 0 only"
    ]
    assert beyond(reached, {"a": [5, 7]}) == []


def test_topics_may_come_and_go_but_not_all_at_once() -> None:
    noted = source_topics.SourceTopics(frozenset({"here"}), {"a.events": "1", "b.events": "2"})
    found = Identity("here", {"a.events": "1", "c.events": "3"})

    require_same_ids([remembered("it", noted, ["a.events", "c.events"])], found)
    with pytest.raises(DifferentLogError, match=r"filled from a\.events .* to follow c\.events"):
        remembered("it", noted, ["c.events"])
    with pytest.raises(DifferentLogError, match=r"b\.events had the id 2 and is gone"):
        require_same_ids([remembered("it", noted, ["b.events"])], found)
    both = {TopicPartition("a.events", 0): 5, TopicPartition("b.events", 0): 9}
    only_followed = remembered("it", noted, ["a.events"], both).reached
    assert only_followed == {TopicPartition("a.events", 0): 5}


class OnlyTheirs:
    """A Kafka that has the topic of another log, and none of this deployment's."""

    def __init__(self, kafka: KafkaConfig) -> None:
        """Take no notice of it."""

    def identity(self, topics: object) -> Identity:
        return Identity("here", {"order.events": "1"})


@pytest.mark.proves("G-01")
@pytest.mark.parametrize(
    ("noted", "reached", "said"),
    [
        ({"order.events": "1"}, 0, "it was filled from order.events and others, and is asked to"),
        ({}, 42, "m-dead-letters:0 was read up to offset 42, and Kafka has it up to 0 only"),
    ],
)
def test_a_database_is_refused_while_the_topics_are_not_there_yet(
    noted: dict[str, str], reached: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_identity, "Identities", OnlyTheirs)
    nowhere, url = KafkaConfig(settings={}), f"sqlite:///{tmp_path / 'theirs.db'}"
    settings = load_settings(
        APPLICATION, data_dir=tmp_path, topic_prefix="m-", database_url=SecretStr(url)
    )

    require_same_database(settings, nowhere)
    assert not (tmp_path / "theirs.db").exists(), "nothing is made before all is known to fit"
    engine = open_database(url)
    require_same_database(settings, nowhere)
    create_read_side(engine, [])
    with engine.begin() as connection:
        source_topics.note(connection, "here", noted)
        ends = {TopicPartition(settings.topics.dead_letters, 0): reached} if reached else {}
        position.advance(connection, FOLLOWER, {}, ends)
    engine.dispose()

    with pytest.raises(DifferentLogError, match=said):
        require_same_database(settings, nowhere)


@pytest.fixture(scope="module")
def kafka(broker: EmbeddedBroker) -> KafkaConfig:
    """Return a Kafka with a topic of three records."""
    kafka = KafkaConfig(settings={"bootstrap.servers": broker.bootstrap_servers})
    create(kafka)
    return kafka


def create(kafka: KafkaConfig) -> None:
    admin = AdminClient({**kafka.settings, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
    producer = Producer({**kafka.settings, "log_level": 0})
    for _ in range(3):
        producer.produce(TOPIC, b"record")
    assert producer.flush(30) == 0


@pytest.fixture
def engine(new_database: Callable[[], str]) -> Iterator[Engine]:
    engine = open_database(new_database())
    create_read_side(engine, [])
    yield engine
    engine.dispose()


def read_up_to(engine: Engine, offset: int) -> None:
    with engine.begin() as connection:
        position.advance(connection, FOLLOWER, {}, {TopicPartition(TOPIC, 0): offset})


def test_a_read_side_keeps_the_ids_of_the_log_that_it_follows(
    engine: Engine, kafka: KafkaConfig
) -> None:
    read_up_to(engine, 3)

    for _ in range(2):
        bind_to_log(engine, kafka, [TOPIC, "no-such-topic"])

    found = Identities(kafka).identity([TOPIC])
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT topic, topic_id, cluster_id FROM source_topic"))
        assert [tuple(row) for row in rows] == [(TOPIC, found.topic_ids[TOPIC], found.cluster_id)]


@pytest.mark.proves("G-01")
@pytest.mark.parametrize("column", ["topic_id", "cluster_id"])
def test_a_read_side_of_other_topics_is_refused(
    engine: Engine, kafka: KafkaConfig, column: str
) -> None:
    bind_to_log(engine, kafka, [TOPIC])
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE source_topic_v1 SET {column} = 'another'"))

    with pytest.raises(DifferentLogError, match=r"the read side .*(id was|had the id) another"):
        bind_to_log(engine, kafka, [TOPIC])


@pytest.mark.proves("G-01")
def test_a_read_side_without_ids_that_has_read_further_than_kafka_goes_is_refused(
    engine: Engine, kafka: KafkaConfig
) -> None:
    """An old database under a fresh Kafka was ready, skipped what came, and mixed two worlds."""
    read_up_to(engine, 42)

    for _ in range(2):  # and nothing was adopted
        with pytest.raises(
            DifferentLogError, match="up to offset 42, and Kafka has it up to 3 only"
        ):
            bind_to_log(engine, kafka, [TOPIC])
