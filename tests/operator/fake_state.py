"""Spark's state store as a dictionary: what a batch wrote can be taken back, as Spark does."""

from copy import deepcopy
from typing import Any


class FakeValue:
    """A `ValueState`."""

    def __init__(self) -> None:
        self.value: Any = None

    def get(self) -> Any:
        return self.value

    def update(self, value: Any) -> None:
        self.value = value


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

    def getValueState(self, name: str, schema: str) -> FakeValue:  # noqa: N802
        value: FakeValue = self.states.setdefault(name, FakeValue())
        return value

    def getMapState(self, name: str, key_schema: str, schema: str) -> FakeMap:  # noqa: N802
        entries: FakeMap = self.states.setdefault(name, FakeMap())
        return entries

    def copy(self) -> "FakeStateStore":
        return deepcopy(self)
