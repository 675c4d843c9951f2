"""Events on a topic of their own, some of them archived, some of them dropped by Kafka."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

from confluent_kafka import Message, Producer

from schemas.position import PositionAdjusted, PositionClosed
from tests.application import APPLICATION, encode_event
from tests.kit.databases import ReadSide
from tests.kit.deployment import KafkaDeployment
from tests.kit.log import EventLog, opened
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.message import Event
from verdict.model.source import Source
from verdict.read_side.apply.applier import Applier
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.event_log import EventLog as WholeLog
from verdict.wire.partitions import Spans, TopicPartition
from verdict.wire.topics import Topics

POSITIONS = 12


class Followable(KafkaDeployment):
    """Events of positions on a topic of their own, some of them archived."""

    def __init__(self, broker: EmbeddedBroker, topics: Topics, read_side: ReadSide) -> None:
        super().__init__(broker.bootstrap_servers, topics)
        self.read_side = read_side
        self.topic = topics.events("position")
        self._events = EventLog()
        self._archive = Applier(
            read_side.engine, read_side.projections["event_archive"], topics, live=False
        )
        self._ends = dict.fromkeys(range(4), 0)
        events = map(topics.events, APPLICATION.aggregate_types)
        self.create_own(*events, topics.skips, topics.named("share-holders"))

    def happen(self, rounds: int) -> None:
        """Let every position have so many events more, in transactions, one of them aborted."""
        producer = self._producer()
        for nth in range(rounds + 1):
            producer.begin_transaction()
            for number in range(POSITIONS):
                self._one(producer, f"p-{number}", aborted=nth == rounds)
            if nth == rounds:
                producer.flush(30)
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
        self._producer()

    def _producer(self) -> Producer:
        """Return one for transactions, when the progress records of all before are in the log.

        A commit returns before they are written, and until then what it wrote cannot be read.
        """
        producer = Producer(self.options | {"transactional.id": self.topics.prefix})
        producer.init_transactions(30)
        return producer

    def _one(self, producer: Producer, name: str, aborted: bool) -> None:
        begun = any(d.record.aggregate_id == name for d in self._events.deliveries)  # type: ignore[union-attr]
        payload = PositionAdjusted(amount=3) if begun else opened("ada")
        if aborted:
            place = self._events.place_of(name)
            producer.produce(self.topic, b"never", name, partition=place.partition)
        else:
            self._produce(producer, name, payload)

    def _produce(self, producer: Producer, name: str, payload: Event) -> None:
        self._events.add(name, payload)
        value = encode_event(self._events.deliveries[-1].record)  # type: ignore[arg-type]
        producer.produce(self.topic, value, name, partition=self._events.place_of(name).partition)

    def write_garbage(self) -> Source:
        """Write a record that is no event; return its place."""
        written: list[Message] = []
        producer = Producer(self.options)
        producer.produce(
            self.topic, b"garbage", "p-1", 0, on_delivery=lambda _, message: written.append(message)
        )
        producer.flush(30)
        return Source(self.topic, written[0].partition() or 0, written[0].offset() or 0)

    def close_all(self) -> None:
        """Let every position be closed."""
        producer = self._producer()
        producer.begin_transaction()
        for number in range(POSITIONS):
            self._produce(producer, f"p-{number}", PositionClosed())
        producer.commit_transaction(30)
        self._producer()

    def archive(self) -> None:
        """Archive all that Kafka has."""
        self.apply(self._archive)
        self._ends = {place.partition: end for place, end in self._archive.positions.items()}

    def apply(self, applier: Applier) -> None:
        """Apply all that Kafka has, from where the projection stands."""
        self.bring_up_to_date(applier, self.topic)

    def log(self, parts: ExitStack, log: KafkaLog | None = None) -> WholeLog:
        """Return the archive and what Kafka has behind it; `parts` takes what must be closed."""
        kafka = parts.enter_context(log or KafkaLog(self.options))
        reader = parts.enter_context(self.read_side.reader())
        return WholeLog(self.topics, lambda: kafka, lambda: Archive(reader))

    def ends(self) -> dict[TopicPartition, int]:
        """Return the next offset of each partition."""
        return self.next_offsets(self.topic)

    def drop_all_but_the_last_offset(self) -> None:
        """Let Kafka forget all but that, whether it is archived or not."""
        self.drop({place.partition: end - 1 for place, end in self.ends().items()})

    def drop(self, ends: dict[int, int] | None = None) -> None:
        """Let Kafka forget what is before `ends`: what is archived."""
        self.forget(self.topic, ends or self._ends)

    @property
    def written(self) -> list[tuple[str, int]]:
        """Return (position, version) of each event, in any order."""
        return sorted(
            (d.record.aggregate_id, d.record.version)  # type: ignore[union-attr]
            for d in self._events.deliveries
        )


class CutLog(KafkaLog):
    """Of a Kafka that drops records between the question what it has and the reading."""

    def __init__(self, options: Mapping[str, str], cut: Callable[[], None]) -> None:
        super().__init__(options)
        self._cut: Callable[[], None] | None = cut

    def read(self, spans: Spans, follow: bool = False) -> Iterator[Message]:
        """Yield what is left after the cut."""
        if self._cut is not None:
            self._cut()
            self._cut = None
        return super().read(spans, follow)
