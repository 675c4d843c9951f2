"""G-01: topics are created for aggregates that no progress record knows; none replaces another."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine

from tests.bootstrap.world import World
from verdict.adapters.kafka.log_identity import DifferentLogError
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables import position, source_topics
from verdict.read_side.tables.row_states import FOLLOWER
from verdict.service.topics import create_topics, ensure_topics
from verdict.streaming.exactly_once.topic_owner import OtherOwnerError
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics


def follows(engine: Engine, topics: Topics) -> None:
    """Let the read side be that of other topics, which this Kafka does not have."""
    with engine.begin() as connection:
        source_topics.note(connection, "", {"other.events": "an-id"})


def has_read(engine: Engine, topics: Topics) -> None:
    """Let it have read what is not there, and know no ids, as one of an older version."""
    with engine.begin() as connection:
        place = TopicPartition(topics.dead_letters, 0)
        position.advance(connection, FOLLOWER, {}, {place: 42})


@pytest.mark.proves("G-01")
def test_a_topic_that_the_progress_record_knows_is_not_created_again(world: World) -> None:
    world.knows("invoice")
    gone = world.settings.topics.events("invoice")
    world.delete(gone)

    for create in (create_topics, ensure_topics):
        with pytest.raises(DifferentLogError, match=f"{gone} had the id .* and is gone"):
            create(world.settings, world.kafka)

    assert not world.has(gone)


@pytest.mark.proves("G-01")
def test_a_second_deployment_on_the_same_topics_is_refused_and_makes_nothing(world: World) -> None:
    """Both were ready, and published every version twice."""
    world.knows("loyalty")
    second = world.settings.model_copy(update={"deployment": "second"})

    for create in (create_topics, ensure_topics):
        with pytest.raises(
            OtherOwnerError, match=r"belong to the deployment 'verdict', .* 'second'"
        ):
            create(second, world.kafka)

    assert not world.has(second.topics.progress)


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

    for create in (create_topics, ensure_topics):
        with pytest.raises(
            DifferentLogError, match=r"the read side .*theirs\.db belongs to another log"
        ):
            create(mistyped, world.kafka)

    assert created_here.isdisjoint(world.names())


def test_an_aggregate_that_the_progress_record_does_not_know_gets_its_topics(world: World) -> None:
    world.knows("loyalty")
    order = world.settings.topics.siblings(world.settings.topics.events("order"))
    for topic in order:
        world.delete(topic)

    created = create_topics(world.settings, world.kafka)

    assert set(order) <= set(created)
    assert all(map(world.has, order))
