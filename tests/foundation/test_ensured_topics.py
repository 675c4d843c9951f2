"""G-01: topics are created for aggregates that no marker knows, and in nobody's place."""

from collections.abc import Callable, Set
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pydantic import SecretStr
from sqlalchemy import Engine

from verdict.configuration.settings import Settings
from verdict.exactly_once.checkpoint import FRESH
from verdict.exactly_once.claim import write_marker
from verdict.exactly_once.decider_query import decider_query
from verdict.exactly_once.owner import take_over
from verdict.exactly_once.ownership import OwnedByAnother
from verdict.exactly_once.transactions import Transactions
from verdict.foundation.ensured_topics import created_topics, ensured_topics
from verdict.kafka.access import Kafka
from verdict.kafka.identity import AnotherLog
from verdict.kafka.log import KafkaLog
from verdict.local.broker import EmbeddedBroker
from verdict.projection import followed, position
from verdict.projection.database import create_read_side, open_database
from verdict.projection.letter import FOLLOWER
from verdict.wire.spans import Partition
from verdict.wire.topics import Topics


class World:
    """A deployment of one partition a topic, whose decider has claimed its topics."""

    def __init__(self, broker: EmbeddedBroker, data_dir: str) -> None:
        self.settings = Settings(data_dir=data_dir, topic_prefix="ensured.", partitions=1)
        self.kafka = Kafka(settings={"bootstrap.servers": broker.bootstrap_servers})
        self._query = decider_query(self.settings.topics, 1)
        self._admin = AdminClient({**self.kafka.settings, "log_level": 0})
        ensured_topics(self.settings, self.kafka)
        owner = take_over(self._query, self.kafka, FRESH)
        owner.close()
        self._marker = owner.marker

    def knows(self, aggregate_type: str, *, ids: bool = True) -> None:
        """Let the marker know one aggregate only, with the ids of its topics or without."""
        of = set(self.settings.topics.beside(self.settings.topics.events(aggregate_type)))
        marker = replace(
            self._marker,
            topic_ids={name: id for name, id in self._marker.topic_ids.items() if ids * name in of},
            offsets={name: at for name, at in self._marker.offsets.items() if name in of},
        )
        transactions = Transactions(self.kafka, self._query.transactional_id)
        write_marker(transactions, self._query, self.kafka, marker).close()

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(30)
        while self.has(topic):
            pass

    def has(self, topic: str) -> bool:
        return topic in self.names()

    def names(self) -> Set[str]:
        with KafkaLog(self.kafka.settings) as log:
            return log.topics()


def follows(engine: Engine, topics: Topics) -> None:
    """Let the read side be that of other topics, which this Kafka does not have."""
    with engine.begin() as connection:
        followed.note(connection, "", {"other.events": "an-id"})


def has_read(engine: Engine, topics: Topics) -> None:
    """Let it have read what is not there, and know no ids, as one of an older version."""
    with engine.begin() as connection:
        place = Partition(topics.dead_letters, 0)
        position.advance(connection, FOLLOWER, {}, {place: 42})


@pytest.fixture(scope="module")
def world(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(broker, str(tmp_path_factory.mktemp("ensured")))


@pytest.mark.proves("G-01")
@pytest.mark.parametrize("aggregate_type", ["invoice", "position"])
def test_a_topic_that_the_marker_knows_is_not_created_again(
    world: World, aggregate_type: str
) -> None:
    """A marker without ids, of an older version, knows what it has read."""
    world.knows(aggregate_type, ids=aggregate_type == "invoice")
    gone = world.settings.topics.events(aggregate_type)
    world.delete(gone)

    for create in (created_topics, ensured_topics):
        with pytest.raises(AnotherLog, match=f"{gone} had the id .* and is gone"):
            create(world.settings, world.kafka)

    assert not world.has(gone)


@pytest.mark.proves("G-01")
def test_a_second_deployment_on_the_same_topics_is_refused_and_makes_nothing(world: World) -> None:
    """Both were ready, and published every version twice."""
    world.knows("loyalty")
    second = world.settings.model_copy(update={"deployment": "second"})

    for create in (created_topics, ensured_topics):
        with pytest.raises(
            OwnedByAnother, match=r"belong to the deployment 'verdict', .* 'second'"
        ):
            create(second, world.kafka)

    assert not world.has(second.topics.markers)


@pytest.mark.proves("G-01")
@pytest.mark.parametrize("fill", [follows, has_read])
def test_with_the_database_of_another_log_no_topic_is_created_or_claimed(
    world: World, tmp_path: Path, fill: Callable[[Engine, Topics], None]
) -> None:
    """A mistyped topic_prefix left topics, and a claim on them, behind a start that was refused."""
    url = f"sqlite:///{tmp_path / 'theirs.db'}"
    engine = open_database(url)
    create_read_side(engine, [])
    mistyped = world.settings.model_copy(
        update={"topic_prefix": f"{fill.__name__}.", "database_url": SecretStr(url)}
    )
    created_here = {topic.name for topic in mistyped.topics.all()}
    fill(engine, mistyped.topics)
    engine.dispose()

    for create in (created_topics, ensured_topics):
        with pytest.raises(AnotherLog, match=r"the read side .*theirs\.db belongs to another log"):
            create(mistyped, world.kafka)

    assert created_here.isdisjoint(world.names())


def test_an_aggregate_that_the_marker_does_not_know_gets_its_topics(world: World) -> None:
    world.knows("loyalty")
    order = world.settings.topics.beside(world.settings.topics.events("order"))
    for topic in order:
        world.delete(topic)

    created = created_topics(world.settings, world.kafka)

    assert set(order) <= set(created)
    assert all(map(world.has, order))
