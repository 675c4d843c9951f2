"""Spark's state store as a dictionary: what a batch wrote can be taken back, as Spark does."""

from copy import deepcopy
from typing import Any


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
