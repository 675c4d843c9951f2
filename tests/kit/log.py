"""Events as the decider writes them: no gap, a chain of hashes, several partitions."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from zlib import crc32

from schemas.position import PositionOpened
from tests.application import APPLICATION
from verdict.model.application import Application
from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.model.source import Source
from verdict.read_side.apply.batch import Delivery, ProjectionBatch
from verdict.wire.catalog import catalog_of
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import encode_event

TOPIC = "position.events"
START = 1_795_262_400_000  # 2026-11-21T12:00:00Z
SECOND = 1000


class EventLog:
    """The topic `position.events`, or those of other types.

    Each event happens `pace` milliseconds after the one before it: a second, unless it is changed.
    """

    def __init__(
        self,
        partitions: int = 4,
        aggregate_type: str = "position",
        *other_types: str,
        application: Application = APPLICATION,
    ) -> None:
        self._catalog = catalog_of(application)
        self._types = (aggregate_type, *other_types)
        topics = [f"{kind}.events" for kind in self._types]
        self.partitions = [
            TopicPartition(topic, number) for topic in topics for number in range(partitions)
        ]
        self.pace = SECOND
        self.deliveries: list[Delivery] = []
        self.ends = dict.fromkeys(self.partitions, 0)
        self._versions: dict[tuple[str, str], int] = {}
        self._hashes: dict[tuple[str, str], bytes] = {}
        self._now = START
        self._taken = dict(self.ends)

    def add(self, aggregate_id: str, *payloads: Event) -> None:
        """Let these events happen to an aggregate."""
        for payload in payloads:
            self._append(self._next(aggregate_id, payload))

    def add_unseen(self, aggregate_id: str, payload: Event) -> RecordedEvent:
        """Let an event happen that never gets to the topic."""
        return self._next(aggregate_id, payload)

    def repeat(self, event: RecordedEvent) -> None:
        """Write an event (again), at the end."""
        self._append(event)

    def pass_over(self, place: TopicPartition) -> None:
        """Take an offset, as one of Kafka's control records does."""
        self.ends[place] += 1

    def batch(self) -> ProjectionBatch:
        """Return what came since the last batch."""
        starts, self._taken = self._taken, dict(self.ends)
        return self.between(starts, self.ends)

    def everything(self) -> ProjectionBatch:
        """Return all there is, from the beginning."""
        return self.between(dict.fromkeys(self.partitions, 0), self.ends)

    def between(
        self, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> ProjectionBatch:
        """Return what is in these partitions from `starts` up to, and without, `ends`."""
        spans = {place: OffsetRange(starts[place], end) for place, end in ends.items()}
        found = (d for d in self.deliveries if _lies_in(d, spans))
        return ProjectionBatch(found, spans)

    def place_of(self, aggregate_id: str, aggregate_type: str = "") -> TopicPartition:
        """Return the partition that an aggregate's events are on, by default of the first type."""
        topic = f"{aggregate_type or self._types[0]}.events"
        places = [place for place in self.partitions if place.topic == topic]
        return places[crc32(aggregate_id.encode()) % len(places)]

    def events(self, ends: Mapping[TopicPartition, int]) -> list[RecordedEvent]:
        """Return the events before `ends`, in the order in which they were written."""
        reached = {place: OffsetRange(0, end) for place, end in ends.items()}
        return [
            d.record
            for d in self.deliveries
            if _lies_in(d, reached) and isinstance(d.record, RecordedEvent)
        ]

    def _next(self, aggregate_id: str, payload: Event) -> RecordedEvent:
        kind = self._type_of(payload)
        key = kind, aggregate_id
        version = self._versions[key] = self._versions.get(key, 0) + 1
        self._now += self.pace
        event = AN_EVENT._replace(
            event_id=event_id(kind, aggregate_id, version),
            aggregate_type=kind,
            aggregate_id=aggregate_id,
            version=version,
            decided_at=self._now,
            previous_hash=self._hashes.get(key, b""),
            payload=payload,
        )
        self._hashes[key] = sha256(self._encoded(event)).digest()
        return event

    def _type_of(self, payload: Event) -> str:
        several = len(self._types) > 1
        return self._catalog.of(type(payload)).name if several else self._types[0]

    def _encoded(self, event: RecordedEvent) -> bytes:
        return encode_event(self._catalog[event.aggregate_type], event)

    def _append(self, event: RecordedEvent) -> None:
        place = self.place_of(event.aggregate_id, event.aggregate_type)
        self.deliveries.append(Delivery(*place, self.ends[place], event, self._encoded(event)))
        self.ends[place] += 1


def opened(client: str, exchange: str = "NASDAQ", amount: int = 1) -> PositionOpened:
    """Return the opening of a position whose ticker does not matter."""
    return PositionOpened(client=client, ticker="AAPL", exchange=exchange, amount=amount)


def _lies_in(delivery: Delivery, spans: Mapping[TopicPartition, OffsetRange]) -> bool:
    span = spans.get(TopicPartition(delivery.topic, delivery.partition), OffsetRange(0, 0))
    return span.start <= delivery.offset < span.end


AN_EVENT: RecordedEvent[Any] = RecordedEvent(
    event_id="",
    aggregate_type="position",
    aggregate_id="",
    version=0,
    index=0,
    count=1,
    command_id="c-1",
    command_digest=b"\1" * 32,
    correlation_id="flow-1",
    causation_id="c-1",
    actor=None,
    traceparent=None,
    decided_at=0,
    source=Source("position.commands", 0, 0),
    handler_version="1",
    previous_hash=b"",
    payload=opened("nobody"),
)
