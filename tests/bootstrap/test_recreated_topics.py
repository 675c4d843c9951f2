"""G-01: `recover` creates a deleted topic again, unless the state is made from it."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from tests.bootstrap.world import World
from verdict.adapters.kafka.log_identity import DifferentLogError
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.operations.repair.positions import begin_without_progress
from verdict.operations.repair.recreated_topics import recreate_topics
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables import position
from verdict.read_side.tables.row_states import FOLLOWER
from verdict.read_side.tables.same_log import bind_to_log
from verdict.service.queries import queries_of
from verdict.service.topics import ensure_topics
from verdict.settings.discovery import database_url
from verdict.streaming.event_log.skip_log import read_skips
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.restart import restart_from_progress
from verdict.wire.partitions import TopicPartition
from verdict.wire.skip_record import Kind

pytestmark = pytest.mark.kafka
WISH = SkipRequest(operator="ann", reason="a script of ours", at=1_700_000_000_000)


@pytest.fixture
def database(world: World) -> Iterator[Engine]:
    engine = open_database(database_url(world.settings))
    create_read_side(engine, [])
    bind_to_log(engine, world.kafka, world.settings.topics.of_the_log())
    yield engine
    engine.dispose()


def has_read(engine: Engine, topic: str, offset: int) -> None:
    with engine.begin() as connection:
        known = position.load(connection, FOLLOWER)
        position.advance(connection, FOLLOWER, known, {TopicPartition(topic, 0): offset})


def recreate(world: World) -> list[str]:
    return recreate_topics(world.settings, world.kafka, WISH)


def end(world: World, topic: str) -> int:
    with KafkaLog(world.kafka.settings, 30) as log:
        return log.bounds([TopicPartition(topic, 0)])[TopicPartition(topic, 0)].end


@pytest.mark.proves("G-01")
def test_new_dead_letters_get_offsets_that_were_never_read(world: World, database: Engine) -> None:
    letters = world.settings.topics.dead_letters
    world.write(letters, *[b"letter"] * 7)
    has_read(database, letters, 5)
    world.delete(letters)
    with pytest.raises(DifferentLogError, match="`verdict recover` creates it again"):
        ensure_topics(world.settings, world.kafka)

    assert recreate(world) == [letters]

    ensure_topics(world.settings, world.kafka)
    bind_to_log(database, world.kafka, world.settings.topics.of_the_log())
    first = end(world, letters)
    world.write(letters, b"the next")
    assert first >= 5
    assert world.records(letters) == [(first, b"the next", [("name", b"the next")])]
    [decided] = read_skips(world.kafka.settings, world.settings.topics)
    assert (decided.kind, decided.source) == (Kind.ACCEPTED, Source(letters, 0, 0))
    assert (decided.operator, decided.until_offset) == ("ann", 0)
    assert decided.reason == f"{letters} was deleted and is created again: a script of ours"


@pytest.mark.proves("G-01")
def test_commands_that_are_sent_before_the_new_topic_is_ready_are_decided(
    world: World, database: Engine
) -> None:
    """A sender writes again as soon as there is a topic by that name."""
    commands = world.settings.topics.commands("order")
    world.has_decided(commands, 4)
    world.deleted_and_created(commands, b"one", b"two")

    assert recreate(world) == [commands]

    ensure_topics(world.settings, world.kafka)
    assert world.progress().offsets[commands] == [4]
    undecided = [record for record in world.records(commands) if record[0] >= 4]
    assert [value for _, value, _ in undecided] == [b"one", b"two"]
    assert [headers for *_, headers in undecided] == [[("name", b"one")], [("name", b"two")]]


def test_what_nothing_follows_any_more_continues_above_where_that_was_left(
    world: World, database: Engine
) -> None:
    """Should it be followed again, its first records would be passed over."""
    topics, kafka = world.settings.topics, world.kafka
    [reactions] = [one for one in queries_of(world.settings) if one.name == "policies"]
    sold = topics.named("POS")
    world.write(sold, b"sale", b"sale", b"sale")
    begin_without_progress(reactions, kafka, topics, WISH, at_the_ends=True)
    fewer = tuple(one for one in reactions.inputs if one != sold)
    restart_from_progress(replace(reactions, inputs=fewer), kafka).close()
    world.delete(sold)

    assert recreate(world) == [sold]

    with closing(restart_from_progress(reactions, kafka)) as again:
        assert again.progress.offsets[sold] == [3]
    assert end(world, sold) >= 3


@pytest.mark.long
def test_one_that_was_interrupted_is_done_again(world: World, database: Engine) -> None:
    """Killed before anybody was told, there is a topic that continues where it should."""
    commands = world.settings.topics.commands("position")
    world.has_decided(commands, 3)
    ids, cluster = dict(world.progress().topic_ids), world.progress().cluster_id
    world.delete(commands)
    recreate(world)
    world.knows_again(cluster, ids)

    assert recreate(world) == [commands]

    ensure_topics(world.settings, world.kafka)
    assert world.records(commands) == []
    assert recreate(world) == []


def test_without_a_progress_record_it_is_unknown_how_far_a_topic_was_read(
    world: World, database: Engine
) -> None:
    """A new topic would begin at 0, and every offset be given a second time."""
    progress, topics = world.progress(), world.settings.topics
    world.forget_progress()
    world.delete(topics.commands("order"))

    with pytest.raises(VerdictError, match=r"order\.commands is gone, and so is the progress"):
        recreate(world)

    assert not world.has(topics.commands("order"))
    world.remember(progress)
    assert recreate(world) == [topics.commands("order")]


def test_what_the_state_is_made_from_is_refused_and_nothing_is_changed(
    world: World, database: Engine
) -> None:
    """The last one: nothing brings these topics back."""
    topics = world.settings.topics
    gone = topics.events("invoice"), topics.responses("loyalty")
    for topic in (*gone, topics.retry):
        world.delete(topic)

    said = rf"{gone[0]}, {gone[1]} are deleted, .* Restore it from a backup"
    with pytest.raises(VerdictError, match=said):
        recreate(world)

    assert not world.has(topics.retry)
