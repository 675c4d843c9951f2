"""The parts of a shard's state in Spark's state store: one state variable for all of them.

To initialise a variable costs Spark's JVM about 8 ms in every task (4.2 makes its encoders anew,
with analysis and generated code), which is more than all other requests of a small batch together.
"""

from typing import Any

from verdict.write_side.state.log_head import LogHead

KEY = "part string, number bigint"
VALUE = "previous binary, content binary"

HEAD = ("head", 0)


class StoredState:
    """Head, log and pages of one shard, as they were committed and as this batch changes them.

    Args:
        handle: Spark's, of the operator.
    """

    def __init__(self, handle: Any) -> None:
        self._parts = handle.getMapState("shard", KEY, VALUE)

    def head(self) -> LogHead:
        """Return the head; that of an empty state is new."""
        found = self._content(HEAD)
        return LogHead() if found is None else LogHead.decode(found)

    def set_head(self, head: LogHead) -> None:
        """Replace the head."""
        self._put(HEAD, head.encode())

    def entry(self, seq: int) -> tuple[bytes, bytes] | None:
        """Return the digest before a log entry, and the entry."""
        found = self._parts.getValue(("log", seq))
        return None if found is None else (bytes(found[0]), bytes(found[1]))

    def append(self, seq: int, previous: bytes, entry: bytes) -> None:
        """Write a log entry behind the digest of those before it."""
        self._put(("log", seq), entry, previous)

    def drop(self, seq: int) -> None:
        """Remove a log entry."""
        self._parts.removeKey(("log", seq))

    def page(self, number: int) -> bytes | None:
        """Return a page."""
        return self._content(("page", number))

    def set_page(self, number: int, packed: bytes) -> None:
        """Write or replace a page."""
        self._put(("page", number), packed)

    def drop_page(self, number: int) -> None:
        """Remove a page."""
        self._parts.removeKey(("page", number))

    def _content(self, key: tuple[str, int]) -> bytes | None:
        found = self._parts.getValue(key)
        return None if found is None else bytes(found[1])

    def _put(self, key: tuple[str, int], content: bytes, previous: bytes = b"") -> None:
        self._parts.updateValue(key, (previous, content))
