"""A shard's state as a dictionary, for those who want to see what a batch keeps."""

from collections.abc import Mapping

from verdict.operator.shard_state import Entry


class DictState:
    """A shard's state that forgets nothing."""

    def __init__(self) -> None:
        self.entries: dict[bytes, Entry] = {}

    def open(self, shard: int) -> None:
        """Nothing to prepare."""

    def stamp(self) -> None:
        return None

    def get(self, key: bytes) -> bytes | None:
        found = self.entries.get(key)
        return None if found is None else found.value

    def commit(self, changed: Mapping[bytes, Entry], now: int) -> None:
        self.entries.update(changed)
