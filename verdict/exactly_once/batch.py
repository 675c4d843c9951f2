"""What a query hands over to be published: a batch, and its output record by record."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from verdict.kafka.offsets import Offsets, shown
from verdict.wire.marker import ShardState

LENGTHS = struct.Struct(">iiii")
NONE = -1  # a missing key or value is not an empty one
OTHERWISE_WORDED = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One micro-batch as Spark's checkpoint planned it.

    `start` and `end` are the next offsets by partition, by topic, before and after the batch.
    `moves` tells of the states behind it, of those that told.
    """

    query_id: str
    batch_id: int
    start: Offsets
    end: Offsets
    moves: tuple["Move", ...] = ()

    def __str__(self) -> str:
        return (
            f"batch {self.batch_id} of Spark query {self.query_id} "
            f"from ({shown(self.start)}) to ({shown(self.end)})"
        )


class Move(NamedTuple):
    """Where the state of a shard stood when a batch began with it, and where the batch left it."""

    shard: int
    before: ShardState
    after: ShardState


class OutputRecord(NamedTuple):
    """One Kafka record to be published.

    `headers` is a text of `verdict.wire.headers`. `replayable` is False when a replay may word
    `value` differently (the message of a bug): then the value stays outside the digest, all else
    is in it.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: str = ""
    replayable: bool = True


class Digest:
    """SHA-256 over the records of a batch, in their order; equal output gives equal digests."""

    def __init__(self) -> None:
        self._hash = sha256()

    def over(self, records: Iterable[OutputRecord]) -> Iterator[OutputRecord]:
        """Yield the records, each after it was taken in."""
        update, pack = self._hash.update, LENGTHS.pack
        for record in records:
            name, key, value, text, replayable = record
            topic, headers = name.encode(), text.encode()
            length = _length(value)
            if not replayable:
                value, length = b"", OTHERWISE_WORDED
            lengths = pack(len(topic), _length(key), length, len(headers))
            update(b"".join((lengths, topic, key or b"", value or b"", headers)))
            yield record

    def value(self) -> bytes:
        """Return the 32 bytes."""
        return self._hash.digest()


def digest(outputs: Iterable[OutputRecord]) -> bytes:
    """Return the digest of `outputs`, 32 bytes."""
    whole = Digest()
    for _ in whole.over(outputs):
        pass
    return whole.value()


def _length(part: bytes | None) -> int:
    return NONE if part is None else len(part)
