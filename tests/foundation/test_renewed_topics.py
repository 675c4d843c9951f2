"""G-01: a topic that is gone for good stops nobody for good, and no place is given twice."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from tests.foundation.world import World
from verdict.configuration.found import database_url
from verdict.errors import VerdictError
from verdict.event_log.decisions import read_decisions, write_decisions
from verdict.event_log.followed_log import follow_this_log
from verdict.event_log.passing import Wish
from verdict.exactly_once.restart import restart_from_progress
from verdict.foundation.ensured_topics import ensured_topics
from verdict.foundation.known_markers import queries_of
from verdict.foundation.renewed_topics import renew_topics
from verdict.kafka.log_identity import AnotherLog
from verdict.model.source import Source
from verdict.processing.beginning import begin_without_marker
from verdict.projection import decision, position
from verdict.projection.database import create_read_side, open_database, snapshot
from verdict.projection.letter_status import FOLLOWER
from verdict.wire.decision import Decision
from verdict.wire.spans import Partition

pytestmark = pytest.mark.kafka
WISH = Wish(who="ann", why="a script of ours", at=1_700_000_000_000)


@pytest.fixture
def database(world: World) -> Iterator[Engine]:
    engine = open_database(database_url(world.settings))
    create_read_side(engine, [])
    follow_this_log(engine, world.kafka, world.settings.topics.of_the_log())
    yield engine
    engine.dispose()


def has_read(engine: Engine, topic: str, offset: int) -> None:
    with engine.begin() as connection:
        known = position.load(connection, FOLLOWER)
        position.advance(connection, FOLLOWER, known, {Partition(topic, 0): offset})


def renew(world: World, *topics: str) -> object:
    return renew_topics(world.settings, world.kafka, topics, WISH)


@pytest.mark.proves("G-01")
def test_new_dead_letters_begin_where_the_former_were_read_up_to(
    world: World, database: Engine
) -> None:
    letters = world.settings.topics.dead_letters
    world.write(letters, *[b"letter"] * 7)
    has_read(database, letters, 5)
    world.delete(letters)
    with pytest.raises(AnotherLog, match=r"recover --renew TOPIC"):
        ensured_topics(world.settings, world.kafka)

    begins = renew(world, letters)

    assert begins == {letters: [5]}
    ensured_topics(world.settings, world.kafka)
    follow_this_log(database, world.kafka, world.settings.topics.of_the_log())
    world.write(letters, b"the next")
    assert world.records(letters) == [(5, b"the next", [("name", b"the next")])]
    [decided] = read_decisions(world.kafka.settings, world.settings.topics)
    assert (decided.source, decided.until) == (Source(letters, 0, 0), 5)
    assert decided.who == "ann"
    assert decided.why.endswith(": a script of ours")


@pytest.mark.proves("G-01")
def test_commands_that_are_sent_before_the_new_topic_is_ready_are_put_behind(
    world: World, database: Engine
) -> None:
    """A sender writes again as soon as there is a topic by that name."""
    commands = world.settings.topics.commands("order")
    world.has_decided(commands, 4)
    world.deleted_and_created(commands, b"one", b"two")

    assert renew(world, commands) == {commands: [4]}

    ensured_topics(world.settings, world.kafka)
    assert world.marker().offsets[commands] == [4]
    assert world.records(commands) == [
        (4, b"one", [("name", b"one")]),
        (5, b"two", [("name", b"two")]),
    ]


def test_rejections_begin_behind_all_that_can_have_been_there(
    world: World, database: Engine
) -> None:
    """Nobody has a position on them; each was written with its response, in its partition."""
    topics = world.settings.topics
    world.write(topics.responses("order"), b"accepted", b"refused")
    world.delete(topics.rejected("order"))

    assert renew(world, topics.rejected("order")) == {topics.rejected("order"): [2]}

    ensured_topics(world.settings, world.kafka)


def test_what_was_decided_is_taken_from_its_copy(world: World, database: Engine) -> None:
    topics = world.settings.topics
    source = Source(topics.events("order"), 0, 3)
    before = Decision(source=source, until=4, who="bea", why="torn", decided_at=1)
    write_decisions(world.kafka.settings, topics, [before])
    decided = read_decisions(world.kafka.settings, topics)
    with database.begin() as connection:
        decision.copy(connection, decided)
    world.delete(topics.decisions)

    renew(world, topics.decisions)

    ensured_topics(world.settings, world.kafka)
    *copied, of_this = read_decisions(world.kafka.settings, topics)
    assert sorted(copied, key=repr) == sorted(decided, key=repr)
    assert of_this.source.topic == topics.decisions
    with snapshot(database) as connection:
        assert set(decision.load(connection)) == set(copied)


def test_what_nothing_follows_any_more_begins_where_that_was_left(
    world: World, database: Engine
) -> None:
    """Should it be followed again, its first records would be passed over."""
    topics, kafka = world.settings.topics, world.kafka
    [reactions] = [one for one in queries_of(world.settings) if one.name == "reactions"]
    sold = topics.named("POS")
    world.write(sold, b"sale", b"sale", b"sale")
    begin_without_marker(reactions, kafka, topics, WISH, at_the_ends=True)
    fewer = tuple(one for one in reactions.inputs if one != sold)
    restart_from_progress(replace(reactions, inputs=fewer), kafka).close()
    world.delete(sold)

    assert renew(world, sold) == {sold: [3]}

    with closing(restart_from_progress(reactions, kafka)) as again:
        assert again.marker.offsets[sold] == [3]


@pytest.mark.long
def test_one_that_was_interrupted_is_done_again(world: World, database: Engine) -> None:
    """Killed before anybody was told, there is a topic that begins where it should."""
    commands = world.settings.topics.commands("position")
    world.has_decided(commands, 3)
    ids, cluster = dict(world.marker().topic_ids), world.marker().cluster_id
    world.delete(commands)
    renew(world, commands)
    world.knows_again(cluster, ids)

    assert renew(world, commands) == {commands: [3]}

    ensured_topics(world.settings, world.kafka)
    assert world.records(commands) == []


def test_what_is_there_as_it_was_is_not_renewed(world: World, database: Engine) -> None:
    letters = world.settings.topics.dead_letters

    with pytest.raises(VerdictError, match=f"{letters} is there, and nobody remembers another"):
        renew(world, letters)


def test_what_the_state_is_folded_from_is_not_renewed(world: World, database: Engine) -> None:
    events = world.settings.topics.events("invoice")

    with pytest.raises(VerdictError, match=f"{events} cannot be renewed: the state is made from"):
        renew(world, events)


@pytest.mark.parametrize("name", ["markers", "owners", "replies"])
def test_what_heals_by_itself_is_not_renewed(world: World, database: Engine, name: str) -> None:
    with pytest.raises(VerdictError, match="needs no renewal"):
        renew(world, getattr(world.settings.topics, name))


def test_a_mistyped_topic_is_none_of_ours(world: World, database: Engine) -> None:
    with pytest.raises(VerdictError, match="dead-leters is no topic of this deployment"):
        renew(world, "dead-leters")


@pytest.mark.long
def test_one_of_two_that_are_gone_changes_nothing(world: World, database: Engine) -> None:
    topics = world.settings.topics
    world.delete(topics.commands("loyalty"))
    world.delete(topics.retry)

    with pytest.raises(AnotherLog, match=r"loyalty\.commands had the id .* and is gone"):
        renew(world, topics.retry)
    assert not world.has(topics.retry)

    renew(world, topics.retry, topics.commands("loyalty"))
    ensured_topics(world.settings, world.kafka)


def test_without_a_marker_nobody_knows_how_far_a_topic_was_read(
    world: World, database: Engine
) -> None:
    """A new topic would begin at 0, and every place be given a second time."""
    marker, topics = world.marker(), world.settings.topics
    world.forget_marker()
    world.delete(topics.commands("order"))

    with pytest.raises(VerdictError, match="decider has no marker, so nobody knows how far"):
        renew(world, topics.commands("order"))

    assert not world.has(topics.commands("order"))
    world.remember(marker)
    renew(world, topics.commands("order"))
