"""The reference for the state of a shard: one Spark state request for each entry."""

from collections.abc import Mapping
from typing import Any

from verdict.streaming.exactly_once.state_moves import Stamp
from verdict.write_side.state.shard_state import StateEntry


class MapShardState:
    """Slow, it forgets nothing, and it is obviously right."""

    def __init__(self, handle: Any) -> None:
        self._entries = handle.getMapState("entries", "key binary", "entry binary")

    def open(self, shard: int) -> None:
        pass

    def stamp(self) -> Stamp | None:
        return None

    def get(self, key: bytes) -> bytes | None:
        found = self._entries.getValue((key,))
        return None if found is None else bytes(found[0])

    def commit(self, changed: Mapping[bytes, StateEntry], now: int) -> None:
        for key, entry in changed.items():
            self._entries.updateValue((key,), (entry.value,))
