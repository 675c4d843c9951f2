"""What one shard remembers between batches: snapshots, and the outcomes of command ids."""

from collections.abc import Mapping
from typing import Any, Protocol

SEPARATOR = b"\0"  # no id may hold it


class ShardState(Protocol):
    """Entries of one shard; what `commit` wrote is durable when Spark commits the batch."""

    def open(self, shard: int) -> None:
        """Begin a batch of `shard` with everything that committed batches wrote."""

    def get(self, key: bytes) -> bytes | None:
        """Return the entry as of the last committed batch, None if there is none."""

    def commit(self, changed: Mapping[bytes, bytes]) -> None:
        """Replace the entries that this batch changed; called once, at the end of the batch."""


class MapShardState:
    """The plain way: one Spark state request for every entry that is read or written.

    Slow, and obviously right: the reference for every faster way.
    """

    def __init__(self, handle: Any) -> None:
        self._entries = handle.getMapState("entries", "key binary", "entry binary")

    def open(self, shard: int) -> None:
        """Nothing to prepare: Spark has opened the state of this shard."""

    def get(self, key: bytes) -> bytes | None:
        """Ask Spark's state store for one entry."""
        found = self._entries.getValue((key,))
        return None if found is None else bytes(found[0])

    def commit(self, changed: Mapping[bytes, bytes]) -> None:
        """Write entry by entry into Spark's state store."""
        for key, entry in changed.items():
            self._entries.updateValue((key,), (entry,))


def snapshot_key(aggregate_type: str, aggregate_id: str) -> bytes:
    """Return the key of an aggregate's snapshot."""
    return SEPARATOR.join((b"s", aggregate_type.encode(), aggregate_id.encode()))


def outcome_key(aggregate_type: str, aggregate_id: str, command_id: str) -> bytes:
    """Return the key of the remembered outcome of one command id of one aggregate."""
    return SEPARATOR.join(
        (b"o", aggregate_type.encode(), aggregate_id.encode(), command_id.encode())
    )
