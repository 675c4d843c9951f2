"""Kafka's part in memory: topics, their partitions and records."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from verdict.model.source import Source
from verdict.wire.dead_letter_record import Pairs
from verdict.wire.partitions import TopicPartition, partition_of
from verdict.wire.topics import Topics


class LogRecord(NamedTuple):
    """A record as a consumer of Kafka gets it; `timestamp` in epoch milliseconds."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Pairs = ()

    @property
    def source(self) -> Source:
        """Its position."""
        return Source(self.topic, self.partition, self.offset)

    def header(self, name: str) -> bytes | None:
        """Return the value of the last header of this name, if there is one."""
        return next((value for found, value in reversed(self.headers) if found == name), None)


class TopicNotFoundError(LookupError):
    """The deployment has no such topic."""

    def __init__(self, topic: str, known: Sequence[str]) -> None:
        super().__init__(f"there is no topic {topic!r}: there are {', '.join(known)}")


class MemoryLog:
    """The topics of a deployment; each method raises `TopicNotFoundError` for another topic."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._partitions: dict[str, list[list[LogRecord]]] = {
            topic.name: [[] for _ in range(topic.partitions)] for topic in topics.all()
        }

    @property
    def names(self) -> Sequence[str]:
        """The topics, sorted."""
        return sorted(self._partitions)

    def append(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Pairs = (),
    ) -> LogRecord:
        """Append a record to the partition of its key; without a key, to partition 0."""
        count = len(self._of(topic))
        partition = 0 if key is None else partition_of(key, count)
        offset = self.ends([topic])[TopicPartition(topic, partition)]
        record = LogRecord(topic, partition, offset, timestamp, key, value, headers)
        self.put(record)
        return record

    def put(self, record: LogRecord) -> None:
        """Append a record at its own offset, which is not before the end of its partition."""
        end = self.ends([record.topic])[TopicPartition.of(record)]
        if record.offset < end:
            raise ValueError(f"{record.source} is before {end}, the end of its partition")
        self._of(record.topic)[record.partition].append(record)

    def records(self, topic: str) -> list[LogRecord]:
        """Return the records of a topic, partition by partition."""
        return [record for partition in self._of(topic) for record in partition]

    def newest_first(self, topic: str, partition: int) -> Iterator[LogRecord]:
        """Yield the records of a partition from its end, then those of the others."""
        every = self._of(topic)
        for number in sorted(range(len(every)), key=lambda number: number != partition):
            yield from reversed(every[number])

    def since(self, taken: Mapping[TopicPartition, int]) -> Iterator[LogRecord]:
        """Yield the records from these offsets on."""
        for (topic, number), offset in taken.items():
            newest = self._of(topic)[number]
            begin = len(newest)
            while begin and newest[begin - 1].offset >= offset:
                begin -= 1
            yield from newest[begin:]

    def ends(self, topics: Sequence[str]) -> dict[TopicPartition, int]:
        """Return the next offset of every partition of these topics."""
        return {
            TopicPartition(topic, number): records[-1].offset + 1 if records else 0
            for topic in topics
            for number, records in enumerate(self._of(topic))
        }

    def _of(self, topic: str) -> list[list[LogRecord]]:
        if topic not in self._partitions:
            raise TopicNotFoundError(topic, self.names)
        return self._partitions[topic]
