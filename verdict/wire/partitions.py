"""Partitions of topics, ranges of offsets, and the partition of a key."""

from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple, Protocol


class InPartition(Protocol):
    """Something in a partition."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    @classmethod
    def of(cls, one: InPartition) -> "TopicPartition":
        """Return the partition of a record."""
        return cls(one.topic, one.partition)

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}"


PartitionOffsets = Mapping[TopicPartition, int]
"""The next offset of each partition.

JSON has no such keys: store `[[*place, offset] for place, offset in offsets.items()]`, and read
`{TopicPartition(topic, number): offset for topic, number, offset in stored}`.
"""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets from `start` to before `end`; Kafka's control records take offsets too."""

    start: int
    end: int


Spans = Mapping[TopicPartition, OffsetRange]


M = 0x5BD1E995
SEED = 0x9747B28C
WORD = 0xFFFFFFFF
WORDS = Struct("<I").iter_unpack


def murmur2(key: bytes) -> int:
    """Return the unsigned 32-bit hash of Kafka's `Utils.murmur2` and librdkafka's `rd_murmur2`."""
    whole = len(key) & ~3
    result = SEED ^ len(key)
    for (word,) in WORDS(key[:whole]):
        mixed = word * M & WORD
        result = (result * M ^ (mixed ^ mixed >> 24) * M) & WORD
    if rest := key[whole:]:
        result = (result ^ int.from_bytes(rest, "little")) * M & WORD
    result = (result ^ result >> 13) * M & WORD
    return result ^ result >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key, as Java's and our producers choose it."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
