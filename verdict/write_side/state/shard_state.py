"""What one shard remembers between batches: snapshots, and the outcomes of command ids."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

SEPARATOR = b"\0"  # no id may hold it
FOR_EVER = 0

Stamp = tuple[int, bytes]


class StateEntry(NamedTuple):
    """A value to keep, and for how many milliseconds of the state's clock at least."""

    value: bytes
    keep_ms: int = FOR_EVER


class ShardStore(Protocol):
    """Entries of one shard; what `commit` wrote is durable when Spark commits the batch."""

    def open(self, shard: int) -> None:
        """Begin a batch of `shard` with everything that committed batches wrote."""

    def stamp(self) -> Stamp | None:
        """Return (number of commits, digest of all they wrote); None: it keeps no such account."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value as of the last committed batch, None if there is none.

        An entry may still be found after its time, but the same in every copy of the state.
        """

    def commit(self, changed: Mapping[bytes, StateEntry], now: int) -> None:
        """Replace the entries that this batch changed; called once, at the end of the batch.

        A fresh state is seeded by several commits in one batch, each after an `open`.
        """


class MapShardState:
    """The plain way: one Spark state request for every entry that is read or written.

    Slow, it forgets nothing, and it is obviously right: the reference for the faster way.
    """

    def __init__(self, handle: Any) -> None:
        self._entries = handle.getMapState("entries", "key binary", "entry binary")

    def open(self, shard: int) -> None:
        """Nothing to prepare: Spark has opened the state of this shard."""

    def stamp(self) -> Stamp | None:
        """Return None: nobody counted."""
        return None

    def get(self, key: bytes) -> bytes | None:
        """Ask Spark's state store for one entry."""
        found = self._entries.getValue((key,))
        return None if found is None else bytes(found[0])

    def commit(self, changed: Mapping[bytes, StateEntry], now: int) -> None:
        """Write entry by entry into Spark's state store."""
        for key, entry in changed.items():
            self._entries.updateValue((key,), (entry.value,))


class DictState:
    """A shard's state in memory, which forgets nothing; for one batch after the other."""

    def __init__(self) -> None:
        self.entries: dict[bytes, StateEntry] = {}

    def open(self, shard: int) -> None:
        """Nothing to prepare."""

    def stamp(self) -> Stamp | None:
        """Return None: nobody counted."""
        return None

    def get(self, key: bytes) -> bytes | None:
        """Look it up."""
        found = self.entries.get(key)
        return None if found is None else found.value

    def commit(self, changed: Mapping[bytes, StateEntry], now: int) -> None:
        """Keep what changed."""
        self.entries.update(changed)


def snapshot_key(aggregate_type: str, aggregate_id: str) -> bytes:
    """Return the key of an aggregate's snapshot."""
    return SEPARATOR.join((b"s", aggregate_type.encode(), aggregate_id.encode()))


def named(key: bytes) -> tuple[str, str]:
    """Return whose snapshot a key is of: aggregate type and id."""
    _, aggregate_type, aggregate_id = key.split(SEPARATOR, 2)
    return aggregate_type.decode(), aggregate_id.decode()


def outcome_key(aggregate_type: str, aggregate_id: str, command_id: str) -> bytes:
    """Return the key of the remembered outcome of one command id of one aggregate."""
    return SEPARATOR.join(
        (b"o", aggregate_type.encode(), aggregate_id.encode(), command_id.encode())
    )
