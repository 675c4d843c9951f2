"""A materialised projection on a topic."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.as_of.world import World
from tests.kit.log import opened
from tests.topics import create_new
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.model.message import Fields
from verdict.read_side.as_of.destination import COMPLETION_KEY, Export, ExportRecord, KafkaTopic
from verdict.read_side.as_of.materialiser import Materialiser
from verdict.read_side.as_of.resolving import AsOf, ResolvedPosition, parse_as_of

pytestmark = pytest.mark.kafka


class Torn(Export):
    """Rows that end with a bug behind the first."""

    def records(self) -> Iterator[ExportRecord]:
        yield next(self.rows())
        raise ZeroDivisionError


@pytest.fixture
def topic(world: World) -> str:
    """Return a topic with one partition, and let two clients hold something."""
    name = f"{world.topics.prefix}holders"
    admin = AdminClient({**world.options})
    create_new(admin, [NewTopic(name, 1, 1)])
    world.happen("p-1", opened("ada"))
    world.happen("p-2", opened("bob"))
    world.write()
    world.archive()
    return name


def run(world: World, as_of: object, to: str) -> tuple[Fields, bool]:
    return Materialiser(world.settings, "us_holder").run(parse_as_of(str(as_of)), to)


@pytest.mark.proves("A-03")
def test_a_reader_of_committed_records_sees_each_row_once_and_then_the_completion_record(
    world: World, topic: str
) -> None:
    """A-03, A-07."""
    done, new = run(world, 2, f"topic:{topic}")
    again, repeated = run(world, 2, f"topic:{topic}")

    assert (new, repeated, again) == (True, False, done)
    *rows, completion = world.read(topic)
    assert [row.key() for row in rows] == [b"ada", b"bob"]
    assert [json.loads(row.value() or b"")["positions"] for row in rows] == [1, 1]
    assert completion.key() == COMPLETION_KEY.encode()
    told = json.loads(completion.value() or b"")
    assert told["count"] == 2
    lines = b"".join((row.value() or b"") + b"\n" for row in rows)
    assert told["checksum"] == sha256(lines).hexdigest()

    assert run(world, 1, f"topic:{topic}")[1]
    assert [record.key() for record in world.read(topic)[3:]] in (
        [b"ada", COMPLETION_KEY.encode()],
        [b"bob", COMPLETION_KEY.encode()],
    )


@pytest.mark.proves("A-03")
def test_a_run_that_ends_midway_shows_nothing_and_the_next_shows_all(
    world: World, topic: str, tmp_path: Path
) -> None:
    world.read_side.applier("us_holder").apply(world.events.everything())
    with world.read_side.reader() as reader, KafkaLog(world.options) as log:
        rows = reader, "us_holder", ("client",), ResolvedPosition(AsOf(), {})
        to = KafkaTopic(topic, world.kafka, log, world.topics)

        with pytest.raises(ZeroDivisionError):
            to.write(Torn(*rows))
        assert world.read(topic) == []
        assert to.write(Export(*rows))

    assert [record.key() for record in world.read(topic)] == [
        b"ada",
        b"bob",
        COMPLETION_KEY.encode(),
    ]


def test_a_topic_that_is_not_there_or_is_ours_is_refused(world: World, topic: str) -> None:
    with pytest.raises(VerdictError, match=r"has no topic nowhere: create it"):
        run(world, "now", "topic:nowhere")
    with pytest.raises(VerdictError, match=r"is a topic of verdict itself"):
        run(world, "now", f"topic:{world.topic}")
