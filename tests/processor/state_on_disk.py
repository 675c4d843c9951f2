"""Spark's state store as files: a state that is larger than memory, and counts its own time."""

import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple


class Spent(NamedTuple):
    """Seconds: passed, and of a CPU, which others on the machine do not stretch."""

    passed: float
    cpu: float

    def __add__(self, other: "Spent") -> "Spent":  # type: ignore[override]
        return Spent(self.passed + other.passed, self.cpu + other.cpu)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.passed - other.passed, self.cpu - other.cpu)


def now() -> Spent:
    """Return both clocks."""
    return Spent(time.perf_counter(), time.process_time())


class StateOnDisk:
    """A `StatefulProcessorHandle` of one shard, a file for each key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spent = Spent(0.0, 0.0)  # in here, which is not the caller's

    def getMapState(self, name: str, key_schema: str, schema: str) -> "MapOnDisk":  # noqa: N802
        return MapOnDisk(self)

    def bytes(self) -> dict[str, int]:
        """Return how many bytes each part of the state has."""
        names = sorted(at for at in self.folder.iterdir() if at.is_dir())
        return {at.name: sum(file.stat().st_size for file in at.iterdir()) for at in names}

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count what is done here as the store's own time."""
        began = now()
        yield
        self.spent += now() - began


class MapOnDisk:
    """A `MapState` whose keys are a part of the state and a number."""

    def __init__(self, store: StateOnDisk) -> None:
        self._store = store

    def getValue(self, key: tuple[str, int]) -> Any:  # noqa: N802
        with self._store.timed():
            file = self._file(key)
            return pickle.loads(file.read_bytes()) if file.exists() else None

    def updateValue(self, key: tuple[str, int], value: Any) -> None:  # noqa: N802
        with self._store.timed():
            file = self._file(key)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pickle.dumps(value))

    def removeKey(self, key: tuple[str, int]) -> None:  # noqa: N802
        with self._store.timed():
            self._file(key).unlink(missing_ok=True)

    def _file(self, key: tuple[str, int]) -> Path:
        return self._store.folder / key[0] / str(key[1])
