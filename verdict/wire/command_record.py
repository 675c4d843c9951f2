"""A record of a commands topic as a value, and the dead letter that keeps it."""

from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from verdict.model.source import Source
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.topics import KEY_BYTES, LARGEST_BYTES

if TYPE_CHECKING:  # loading it takes a while, and the readers of Spark's batches have it anyway
    import pyarrow as pa

INPUT_COLUMNS = (
    "topic", "partition", "offset", "timestamp", "key", "value", "length", "sha256",
    "attempt", "key_length", "key_sha256", "reply_to",
)  # fmt: skip
ERROR_CHARS = 1000


class CommandRecord(NamedTuple):
    """One record of a commands topic; `timestamp` is Kafka's, in epoch milliseconds.

    Of a key over `KEY_BYTES`, and of a value over the command limit, only the beginning is here:
    then `key_sha256` or `sha256` is the hash of the whole. `length` and `key_length` are those of
    the whole. `attempt` counts the retries that have brought it back. `reply_to` is the header.
    """

    source: Source
    timestamp: int
    key: bytes | None
    value: bytes | None
    length: int
    sha256: bytes | None
    attempt: int = 0
    key_length: int = 0
    key_sha256: bytes | None = None
    reply_to: bytes | None = None

    @property
    def place(self) -> tuple[str, int, int]:
        """The source as a tuple, which sorts much faster: commands are decided in this order."""
        return self.source.topic, self.source.partition, self.source.offset

    @property
    def cut(self) -> bool:
        """Whether the value is longer than a command may be."""
        return self.sha256 is not None


def truncate_command(
    source: Source,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    limit: int,
    attempt: int = 0,
) -> CommandRecord:
    """Return a record as a decider gets it: cut where it is too long, as Spark cuts it."""
    length, key_length = len(value or b""), len(key or b"")
    return CommandRecord(
        source=source,
        timestamp=timestamp,
        key=key and key[:KEY_BYTES],
        value=value and value[:limit],
        length=length,
        sha256=sha256(value or b"").digest() if length > limit else None,
        attempt=attempt,
        key_length=key_length,
        key_sha256=sha256(key or b"").digest() if key_length > KEY_BYTES else None,
    )


def dead_letter(record: CommandRecord, error: str) -> DeadLetter:
    """Return the dead letter of a record; it fits its topic, whatever the record is."""
    value: bytes | None = record.value
    return DeadLetter(
        source=record.source,
        error=error[:ERROR_CHARS],
        key=record.key,
        bytes=value if value is None else value[:LARGEST_BYTES],
        length=record.length,
        sha256=record.sha256 or sha256(value or b"").digest(),
        received_at=max(record.timestamp, 0),
        key_length=None if record.key_sha256 is None else record.key_length,
        key_sha256=record.key_sha256,
    )


def records_in(batches: "Iterator[pa.RecordBatch]") -> Iterator[CommandRecord]:
    """Yield the records of batches whose columns are `INPUT_COLUMNS`."""
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in INPUT_COLUMNS)
        for topic, partition, offset, *rest in zip(*columns, strict=True):
            yield CommandRecord(Source(topic, partition, offset), *rest)
