"""A subscriber reads the archive, then Kafka: every event once, in order, from any position."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.application import APPLICATION
from tests.event_log.followable import POSITIONS, Followable
from verdict.adapters.kafka.errors import TopicMissingError
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import Reader
from verdict.adapters.sql.readers.selected import Parameters, Selected
from verdict.errors import VerdictError
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import readable
from verdict.settings.load import load_settings
from verdict.streaming.event_log.archive import FROM_POSITION
from verdict.streaming.event_log.skip_log import reader_skipping, write_skips
from verdict.streaming.event_log.subscription import SubscribedEvent, Subscription, subscribe
from verdict.wire.partitions import PartitionOffsets, TopicPartition
from verdict.wire.skip_record import SkipRecord

# librdkafka asks for a batch of records when the one before is handed over, and not for more
ONE_BY_ONE = {
    "queued.min.messages": "1",
    "max.partition.fetch.bytes": "1",
    "fetch.queue.backoff.ms": "5",
}


@pytest.fixture
def reader(followable: Followable) -> Iterator[Reader]:
    with followable.read_side.reader() as reader:
        yield reader


@pytest.fixture
def log(followable: Followable) -> Iterator[KafkaLog]:
    with KafkaLog(followable.options) as log:
        yield log


def identities(found: list[SubscribedEvent]) -> list[tuple[str, int]]:
    """Return (position, version) of each, once it is seen that the order is kept."""
    reached: dict[str, int] = {}
    for one in found:
        assert one.event.version > reached.get(one.event.aggregate_id, 0)
        reached[one.event.aggregate_id] = one.event.version
    return sorted((one.event.aggregate_id, one.event.version) for one in found)


@pytest.mark.proves("A-02")
def test_every_event_comes_once_across_the_hand_over_though_kafka_dropped_the_old_ones(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    followable.happen(3)
    followable.archive()
    followable.drop()
    followable.happen(2)

    found = [*Subscription(reader, log, followable.topics, "position").events(follow=False)]

    assert identities(found) == followable.written
    archived = [one.position for one in found if one.position is not None]
    assert archived == [*range(1, 3 * POSITIONS + 1)]
    assert [one.position for one in found[len(archived) :]] == [None] * (2 * POSITIONS)


@pytest.mark.proves("A-07")
def test_a_subscriber_with_stored_places_continues_there(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    followable.happen(3)
    followable.archive()
    followable.happen(2)
    pausing = []
    for seen in (0, 1, 17, 3 * POSITIONS, 3 * POSITIONS + 5, 5 * POSITIONS):
        first = Subscription(reader, log, followable.topics)
        pausing.append(([*islice(first.events(follow=False), seen)], first.places))
    followable.archive()
    followable.drop()

    for before, places in pausing:
        goes_on = Subscription(reader, log, followable.topics, from_position=places)
        then = [*goes_on.events(follow=False)]
        assert identities([*before, *then]) == followable.written, len(before)


@pytest.mark.proves("A-07")
def test_the_places_behind_a_global_position_are_kept_as_any_others(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    followable.happen(2)
    followable.archive()
    followable.happen(1)
    everything = [*Subscription(reader, log, followable.topics).events(follow=False)]

    for position, more in ((1, 0), (20, 0), (20, 1), (20, POSITIONS), (2 * POSITIONS, 0)):
        first = Subscription(reader, log, followable.topics, "position", position)
        before = [*islice(first.events(follow=False), more)]
        kept = json.dumps([[*place, offset] for place, offset in first.places.items()])
        places = {
            TopicPartition(topic, number): offset for topic, number, offset in json.loads(kept)
        }

        then = Subscription(reader, log, followable.topics, "position", places).events(follow=False)

        assert identities([*before, *then]) == identities(everything[position:]), (position, more)


def test_topics_that_are_not_followed_do_not_bring_the_beginning_back(
    followable: Followable, log: KafkaLog
) -> None:
    followable.happen(2)
    followable.archive()
    nowhere: PartitionOffsets = {}
    reader = Asked(followable.read_side.url, readable(projections(APPLICATION)))
    with reader:
        orders = Subscription(reader, log, followable.topics, "order", nowhere)

        assert [*orders.events(follow=False)] == []
        assert reader.pages == 0
        with pytest.raises(VerdictError, match=r"no category 'positions': there are .*, position"):
            Subscription(reader, log, followable.topics, "positions")


class Asked(Reader):
    """Counts how many pages of events it is asked for."""

    pages = 0

    def select(self, statement: str, parameters: Parameters = ()) -> Selected:
        self.pages += statement == FROM_POSITION
        return super().select(statement, parameters)


def test_the_deployment_is_that_of_the_settings(followable: Followable, tmp_path: Path) -> None:
    followable.happen(2)
    followable.archive()
    followable.happen(1)
    settings = load_settings(
        APPLICATION,
        data_dir=tmp_path,
        bootstrap_servers=followable.options["bootstrap.servers"],
        database_url=followable.read_side.url,
        topic_prefix=followable.topics.prefix,
    )

    with subscribe(APPLICATION, "position", POSITIONS, settings) as subscription:
        found = [*subscription.events(follow=False)]

    assert len(found) == 2 * POSITIONS
    assert [one.position for one in found[:POSITIONS]] == [*range(POSITIONS + 1, 2 * POSITIONS + 1)]


@pytest.mark.proves("A-02")
@pytest.mark.parametrize("archived", [True, False])
def test_a_subscriber_that_pauses_while_kafka_drops_what_comes_next_misses_nothing_or_fails(
    followable: Followable, reader: Reader, archived: bool
) -> None:
    followable.happen(1)
    with KafkaLog(followable.options | ONE_BY_ONE) as log:
        events = Subscription(reader, log, followable.topics).events()
        found = [*islice(events, POSITIONS)]
        followable.happen(5)
        if not archived:
            followable.drop_all_but_the_last_offset()
            with pytest.raises(VerdictError, match="what is between is lost"):
                [*islice(events, 5 * POSITIONS)]
            return
        followable.archive()
        followable.drop()
        followable.happen(1)
        found += islice(events, 6 * POSITIONS)

    assert identities(found) == followable.written
    assert any(one.position for one in found), "the archive was not needed"


@pytest.mark.proves("A-02")
def test_a_subscriber_that_has_more_than_kafka_gets_an_error(
    followable: Followable, reader: Reader
) -> None:
    followable.happen(1)
    with KafkaLog(followable.options) as log:
        ends = followable.ends()
        places = ends | {
            TopicPartition(followable.topic, 0): ends[TopicPartition(followable.topic, 0)] + 1
        }
        for follow in (False, True):
            subscription = Subscription(reader, log, followable.topics, "position", places)

            with pytest.raises(TopicMissingError, match="find out who created the topic again"):
                next(subscription.events(follow))


@pytest.mark.proves("B-09")
def test_a_record_that_is_no_event_is_named_and_passed_over_once_that_is_decided(
    followable: Followable, reader: Reader
) -> None:
    followable.happen(1)
    place = followable.write_garbage()
    followable.happen(1)
    garbage = f"{followable.topic}:{place.partition}:{place.offset}"
    with KafkaLog(followable.options) as log:
        subscription = Subscription(reader, log, followable.topics)
        found = []
        with pytest.raises(
            VerdictError, match=f"{garbage} cannot be read .*verdict skip {garbage}"
        ):
            found += [*subscription.events(follow=False)]
    made = SkipRecord(
        source=place, until_offset=place.offset + 1, operator="ada", reason="a test", decided_at=0
    )

    write_skips(followable.options, followable.topics, [made])

    with reader_skipping(followable.options, followable.topics) as log:
        everything = [*Subscription(reader, log, followable.topics).events(follow=False)]
        again = Subscription(reader, log, followable.topics, from_position=subscription.places)
        rest = [*again.events(follow=False)]
    assert identities(everything) == followable.written
    assert place.offset not in [
        one.offset for one in rest if one.place == (followable.topic, place.partition)
    ]
