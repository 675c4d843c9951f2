"""What a query publishes: a batch, and its output record by record."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from verdict.adapters.kafka.offsets import Offsets, each_partition, offsets_at, offsets_text
from verdict.streaming.exactly_once.output_chunks import Record, chunks, digested, records_in
from verdict.streaming.exactly_once.state_moves import StateMove
from verdict.wire.partitions import OffsetRange, Spans


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBatch:
    """One micro-batch as Spark's checkpoint planned it.

    `start` and `end` are the next offsets by topic and partition, before and after the batch.
    `moves` are those of the states that it was decided with.
    """

    query_id: str
    batch_id: int
    start: Offsets
    end: Offsets
    moves: tuple[StateMove, ...] = ()

    @property
    def size(self) -> int:
        """How many offsets it takes; some may hold no record."""
        return sum(span.end - span.start for span in self.spans.values())

    @property
    def spans(self) -> Spans:
        """What it takes of each partition; an added one starts at 0."""
        return {
            place: OffsetRange(offsets_at(self.start, place), offset)
            for place, offset in each_partition(self.end)
        }

    def __str__(self) -> str:
        return (
            f"batch {self.batch_id} of Spark query {self.query_id} "
            f"from ({offsets_text(self.start)}) to ({offsets_text(self.end)})"
        )


class OutputRecord(NamedTuple):
    """One Kafka record to be published.

    `headers` is a text of `verdict.wire.headers`. `replayable` is False if a replay may give
    another `value`, such as the message of a bug; then the digest leaves the value out.
    """

    topic: str
    key: bytes | None
    value: bytes
    headers: str = ""
    replayable: bool = True


Outputs = Collection[OutputRecord] | Callable[[], Iterator[bytes]]
"""The records of a batch, or a function that yields them in order, as workers packed them."""


class Digest:
    """SHA-256 over the records of a batch, in their order; equal output gives equal digests."""

    def __init__(self) -> None:
        self._hash = sha256()

    def over(self, outputs: Outputs) -> Iterator[Record]:
        """Yield the records, each once it is in the digest."""
        for chunk in _packed(outputs):
            self._hash.update(digested(chunk))
            yield from records_in(chunk)

    def value(self) -> bytes:
        """Return the 32 bytes."""
        return self._hash.digest()


def digest(outputs: Outputs) -> bytes:
    """Return the digest of `outputs`, 32 bytes."""
    whole = sha256()
    for chunk in _packed(outputs):
        whole.update(digested(chunk))
    return whole.digest()


def _packed(outputs: Outputs) -> Iterator[bytes]:
    return chunks(outputs) if isinstance(outputs, Collection) else outputs()
