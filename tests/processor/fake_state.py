"""Spark's state store as a dictionary: what a batch wrote can be taken back, as Spark does."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from verdict.streaming.exactly_once.state_moves import Stamp
from verdict.write_side.state.shard_state import StateEntry


class FakeMap:
    """A `MapState`."""

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}

    def getValue(self, key: Any) -> Any:  # noqa: N802  (Spark's name)
        return self.entries.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.entries[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        self.entries.pop(key, None)


class FakeStateStore:
    """A `StatefulProcessorHandle` of one shard that also counts its requests."""

    def __init__(self) -> None:
        self.states: dict[str, Any] = {}

    def getMapState(self, name: str, key_schema: str, schema: str) -> FakeMap:  # noqa: N802
        entries: FakeMap = self.states.setdefault(name, FakeMap())
        return entries

    def part(self, name: str) -> dict[int, Any]:
        """Return what a log-structured state stored of one part, by number."""
        stored = self.states["shard"].entries
        return {number: content for (part, number), (_, content) in stored.items() if part == name}

    def copy(self) -> "FakeStateStore":
        return deepcopy(self)


class MapShardState:
    """The reference for the state of a shard: one request for each entry; it forgets nothing."""

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
