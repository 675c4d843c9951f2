"""A subscriber reads the archive, then Kafka: every event once, in order, from any position."""

import re
from collections.abc import Iterator
from itertools import islice

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from compose.errors import VerdictError
from compose.kafka_log import KafkaLog, Span
from compose.local.broker import EmbeddedBroker
from compose.reader import Reader
from compose.subscription import Followed, Place, Subscription
from compose.topic_check import TopicAdmin
from projections.engine.applier import Applier
from projections.engine.batch import Batch, Partition
from projections.engine.batch import Span as Offsets
from projections.stream import Decoder
from schemas.position import PositionAdjusted
from schemas.topics import Topics
from schemas.wire.records import encode_event
from tests.conftest import NewDatabase
from tests.projections.event_log import EventLog, opened
from tests.projections.read_side import ReadSide

POSITIONS = 12


class Followable:
    """Events of positions on a topic of their own, some of them archived."""

    def __init__(self, broker: EmbeddedBroker, topics: Topics, read_side: ReadSide) -> None:
        self.topics, self.read_side = topics, read_side
        self.options = {"bootstrap.servers": broker.bootstrap_servers}
        self.topic = topics.events("position")
        self._events = EventLog()
        self._archive = Applier(
            read_side.engine, read_side.projections["event_archive"], topics, live=False
        )
        self._ends = dict.fromkeys(range(4), 0)
        TopicAdmin(self.options, topics).create_missing()

    def happen(self, rounds: int) -> None:
        """Let every position have so many events more, in transactions, one of them aborted."""
        producer = Producer(self.options | {"transactional.id": self.topics.prefix})
        producer.init_transactions(30)
        for nth in range(rounds + 1):
            producer.begin_transaction()
            for number in range(POSITIONS):
                self._one(producer, f"p-{number}", aborted=nth == rounds)
            if nth == rounds:
                producer.flush(30)
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)

    def _one(self, producer: Producer, name: str, aborted: bool) -> None:
        begun = any(d.record.aggregate_id == name for d in self._events.deliveries)  # type: ignore[union-attr]
        payload = PositionAdjusted(amount=3) if begun else opened("ada")
        if aborted:
            value = b"never"
        else:
            self._events.add(name, payload)
            value = encode_event(self._events.deliveries[-1].record)  # type: ignore[arg-type]
        producer.produce(self.topic, value, name, partition=self._events.place_of(name).partition)

    def archive(self) -> None:
        """Archive all that Kafka has."""
        with KafkaLog(self.options) as log:
            ends = {number: log.bounds(self.topic, number)[1] for number in self._ends}
            spans = [Span(self.topic, n, self._ends[n], end) for n, end in ends.items()]
            decoder = Decoder(self.topics)
            batch = Batch(
                [
                    decoder.delivery(
                        self.topic, m.partition() or 0, m.offset() or 0, m.key(), m.value()
                    )
                    for m in log.read(spans)
                ],
                {Partition(self.topic, n): Offsets(self._ends[n], end) for n, end in ends.items()},
            )
        self._archive.apply(batch)
        assert self._archive.failure is None
        self._ends = ends

    def drop(self, ends: dict[int, int] | None = None) -> None:
        """Let Kafka forget what lies before `ends`: what is archived."""
        gone = [TopicPartition(self.topic, n, end) for n, end in (ends or self._ends).items()]
        admin = AdminClient({**self.options})  # it must outlive its answers
        for done in admin.delete_records(gone).values():
            done.result(30)

    @property
    def written(self) -> list[tuple[str, int]]:
        """Return (position, version) of each event, in any order."""
        return sorted(
            (d.record.aggregate_id, d.record.version)  # type: ignore[union-attr]
            for d in self._events.deliveries
        )


@pytest.fixture
def followable(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, new_database: NewDatabase
) -> Iterator[Followable]:
    prefix = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:120] + "."
    read_side = ReadSide(new_database())
    yield Followable(broker, Topics(prefix=prefix), read_side)
    read_side.close()


@pytest.fixture
def reader(followable: Followable) -> Iterator[Reader]:
    with followable.read_side.reader() as reader:
        yield reader


@pytest.fixture
def log(followable: Followable) -> Iterator[KafkaLog]:
    with KafkaLog(followable.options) as log:
        yield log


def identities(found: list[Followed]) -> list[tuple[str, int]]:
    """Return (position, version) of each, once it is seen that the order is kept."""
    reached: dict[str, int] = {}
    for one in found:
        assert one.event.version > reached.get(one.event.aggregate_id, 0)
        reached[one.event.aggregate_id] = one.event.version
    return sorted((one.event.aggregate_id, one.event.version) for one in found)


def test_every_event_comes_once_across_the_hand_over_though_kafka_dropped_the_old_ones(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    """A-02."""
    followable.happen(3)
    followable.archive()
    followable.drop()
    followable.happen(2)

    found = [*Subscription(reader, log, followable.topics, "position").events(follow=False)]

    assert identities(found) == followable.written
    archived = [one.position for one in found if one.position is not None]
    assert archived == [*range(1, 3 * POSITIONS + 1)]
    assert [one.position for one in found[len(archived) :]] == [None] * (2 * POSITIONS)


@pytest.mark.parametrize("seen", [0, 1, 17, 3 * POSITIONS, 3 * POSITIONS + 5, 5 * POSITIONS])
def test_whoever_keeps_the_places_goes_on_where_they_were(
    followable: Followable, reader: Reader, log: KafkaLog, seen: int
) -> None:
    """A-07."""
    followable.happen(3)
    followable.archive()
    followable.happen(2)
    first = Subscription(reader, log, followable.topics)
    before = [*islice(first.events(follow=False), seen)]
    followable.archive()
    followable.drop()

    then = [*Subscription(reader, log, followable.topics, start=first.places).events(follow=False)]

    assert identities([*before, *then]) == followable.written


def test_from_a_global_position_on(followable: Followable, reader: Reader, log: KafkaLog) -> None:
    followable.happen(2)
    followable.archive()

    found = Subscription(reader, log, followable.topics, "position", start=20).events(follow=False)

    assert [one.position for one in found] == [*range(21, 2 * POSITIONS + 1)]


def test_other_categories_are_passed_over(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    followable.happen(1)
    followable.archive()
    followable.happen(1)

    assert [*Subscription(reader, log, followable.topics, "order").events(follow=False)] == []


def test_what_is_neither_archived_nor_in_kafka_is_named(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    followable.happen(1)
    followable.archive()
    followable.happen(2)
    gone = {n: log.bounds(followable.topic, n)[1] - 1 for n in range(4)}
    followable.drop(gone)

    with pytest.raises(VerdictError, match="what is between is lost"):
        [*Subscription(reader, log, followable.topics).events(follow=False)]


def test_an_empty_archive_is_no_hindrance(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    followable.happen(1)

    found = [*Subscription(reader, log, followable.topics).events(follow=False)]

    assert identities(found) == followable.written
    assert {one.place for one in found} <= {Place(followable.topic, n) for n in range(4)}
