"""What a shard remembers between batches: snapshots, and outcomes by command id."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from verdict.streaming.exactly_once.state_moves import Stamp

SEPARATOR = b"\0"  # no id may hold it
FOR_EVER = 0


class StateEntry(NamedTuple):
    """A value to keep, and for how many milliseconds of the state's clock at least."""

    value: bytes
    keep_ms: int = FOR_EVER


class ShardStore(Protocol):
    """Entries of one shard; what `commit` wrote is durable when Spark commits the batch."""

    def open(self, shard: int) -> None:
        """Begin a batch of `shard` with everything that committed batches wrote."""

    def stamp(self) -> Stamp | None:
        """Return (number of commits, digest of all they wrote); None: it does not count."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value as of the last committed batch, perhaps longer than it is kept."""

    def commit(self, changed: Mapping[bytes, StateEntry], now: int) -> None:
        """Replace the entries that this batch changed; a seed needs several, each after `open`."""


class DictState:
    """A shard's state in memory, which forgets nothing."""

    def __init__(self) -> None:
        self.entries: dict[bytes, StateEntry] = {}

    def open(self, shard: int) -> None:
        pass

    def stamp(self) -> Stamp | None:
        return None

    def get(self, key: bytes) -> bytes | None:
        found = self.entries.get(key)
        return None if found is None else found.value

    def commit(self, changed: Mapping[bytes, StateEntry], now: int) -> None:
        self.entries.update(changed)


def snapshot_key(aggregate_type: str, aggregate_id: str) -> bytes:
    """Return the key of an aggregate's snapshot."""
    return SEPARATOR.join((b"s", aggregate_type.encode(), aggregate_id.encode()))


def outcome_key(aggregate_type: str, aggregate_id: str, command_id: str) -> bytes:
    """Return the key of the remembered outcome of one command id of one aggregate."""
    names = aggregate_type.encode(), aggregate_id.encode(), command_id.encode()
    return SEPARATOR.join((b"o", *names))
