"""A shard's state in a few Spark state requests per batch, whatever the number of aggregates.

Spark's state store holds a log (one entry per batch: what it changed), pages (all entries, as they
were folded last) and a head. Reads are served by a local copy that follows the log. Every batch
appends one log entry and folds pages for about as many bytes as it wrote, so the log stays about
as large as the state. The shape is that of a log-structured store with incremental compaction
(Rosenblum and Ousterhout, 1992); pages are split evenly, as in linear hashing.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verdict.streaming.exactly_once.state_moves import Stamp
from verdict.write_side.state.entries import (
    KeyHash,
    StoredEntry,
    expired,
    kept,
    key_hash,
    pack,
    value_of,
)
from verdict.write_side.state.lmdb_cache import LmdbCache
from verdict.write_side.state.log_head import CREDIT_PER_BATCH, DROPS_PER_BATCH, LogHead, chained
from verdict.write_side.state.shard_state import StateEntry

# One state variable for all parts: to initialise one costs Spark's JVM about 8 ms in every task,
# which is more than all other requests of a small batch together.
KEY = "part string, number bigint"
VALUE = "previous binary, content binary"
HEAD = ("head", 0)


class DamagedStateError(RuntimeError):
    """What Spark's state store returned is not what was written to it."""


class LogStructuredState:
    """The state of one shard as log, pages and head."""

    def __init__(self, handle: Any, folder: Path) -> None:
        self._stored = StoredState(handle)
        self._folder = folder

    def open(self, shard: int) -> None:
        """Bring the local copy to the committed head and begin to read."""
        self._shard = shard
        self._head = self._stored.head()
        self._copy = LmdbCache(self._folder, shard)
        self._hashes: dict[bytes, KeyHash] = {}  # most keys that are asked for are changed later
        wanted = self.stamp()
        while (stamp := self._copy.begin()) != wanted:
            if stamp is None or not self._followed(stamp):
                self._copy.rebuild(self._everything(), wanted)

    def stamp(self) -> Stamp:
        """Return where the log ends: its last entry, and the digest of all up to it."""
        return self._head.seq, self._head.digest

    def get(self, key: bytes) -> bytes | None:
        """Return a value as of the last committed batch."""
        found = self._copy.get(self._hash(key))
        return None if found is None else value_of(found)

    def commit(self, changed: Mapping[bytes, StateEntry], now: int) -> None:
        """Append one log entry, fold pages for as many bytes, and drop what is folded."""
        hashed = {self._hash(key): entry for key, entry in changed.items()}
        self._head = self._head.at(now)
        clock, entries = self._head.clock, dict[KeyHash, StoredEntry]()
        for key in sorted(hashed):  # hashes alone: of pairs, each comparison would be two
            value, keep = hashed[key]
            entries[key] = kept(value, keep and clock + keep)
        gone = self._fold(entries)
        entry = pack(entries.items(), gone)
        appended = self._head.appended(entry)
        self._stored.append(appended.seq, self._head.digest, entry)
        self._copy.save_last_entry(entry)
        end = min(appended.needed, appended.oldest + DROPS_PER_BATCH)
        for seq in range(appended.oldest, end):
            self._stored.drop(seq)
        self._head = appended._replace(oldest=max(appended.oldest, end))
        self._stored.set_head(self._head)
        self._copy.end()

    def _hash(self, key: bytes) -> KeyHash:
        found = self._hashes.get(key)
        if found is None:
            found = self._hashes[key] = key_hash(key)
        return found

    def _followed(self, stamp: Stamp) -> bool:
        """Advance a copy that is on the log, an entry at a time; return False if it is not."""
        seq, digest = stamp
        if not self._head.oldest - 1 <= seq < self._head.seq:
            return False
        last = self._copy.last_entry() if seq + 1 == self._head.seq else None
        if last is not None and chained(digest, last) == self._head.digest:
            self._copy.advance(last, self.stamp(), expected=stamp)
            return True  # another process may have moved it: look again
        for previous, entry in self._logged(seq + 1):
            if previous != digest:
                return False  # a copy of another history, as from before a recovery
            seq, digest = seq + 1, chained(previous, entry)
            following = (seq, digest)
            if not self._copy.advance(entry, following, expected=stamp):
                return True  # another process moves it: look again
            stamp = following
        return True

    def _everything(self) -> Iterator[bytes]:
        """Yield all pages, then all log entries, one at a time."""
        for number in self._head.written_pages():
            if (page := self._stored.page(number)) is not None:
                yield page
        yield from (entry for _, entry in self._logged(self._head.oldest))

    def _logged(self, first: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield (digest before it, entry) from `first` to the head, and check that they chain."""
        digest = None
        for seq in range(first, self._head.seq + 1):
            found = self._stored.entry(seq)
            if found is None:
                raise self._damaged(f"log entry {seq} of {self._head.seq} is missing")
            previous, entry = found
            if digest not in (None, previous):
                raise self._damaged(f"log entry {seq - 1} is not what was written")
            digest = chained(previous, entry)
            yield previous, entry
        if digest not in (None, self._head.digest):
            raise self._damaged(f"log entry {self._head.seq} is not what was written")

    def _damaged(self, detail: str) -> DamagedStateError:
        return DamagedStateError(
            f"state of shard {self._shard} is damaged: {detail}; rebuild it with `verdict recover`"
        )

    def _fold(self, changed: Mapping[KeyHash, StoredEntry]) -> list[KeyHash]:
        """Fold pages as far as the credit goes, at most one round; return what has expired."""
        size = sum(map(len, changed.values())) + CREDIT_PER_BATCH
        head = self._head
        # the entry of this batch is folded into the pages, so a round that ends now covers it
        head = head._replace(seq=head.seq + 1, credit=head.credit + size)
        keys, gone = list(changed), list[KeyHash]()
        while head.credit > 0:
            page = self._page(head, changed, keys)
            forgotten = expired(page.items(), head.clock)
            for key in forgotten:
                del page[key]
            gone += forgotten
            head = head.folded_one(self._write_page(head, page))
            if head.cursor == 0:  # the round has ended
                break
        self._head = head._replace(seq=head.seq - 1)
        return gone

    def _page(
        self, head: LogHead, changed: Mapping[KeyHash, StoredEntry], keys: list[KeyHash]
    ) -> dict[KeyHash, StoredEntry]:
        first, end = head.page_range()
        page = dict(self._copy.between(first, end))
        upper = len(keys) if end is None else bisect_left(keys, end)
        page.update((key, changed[key]) for key in keys[bisect_left(keys, first) : upper])
        return page

    def _write_page(self, head: LogHead, page: Mapping[KeyHash, StoredEntry]) -> int:
        """Write a page as what it is split into, in the order of hashes; return its bytes."""
        keys, parts, written = sorted(page), head.parts(), 0
        starts = [bisect_left(keys, first) for _, first in parts]
        for (number, _), start, end in zip(parts, starts, [*starts[1:], len(keys)], strict=True):
            packed = pack((key, page[key]) for key in keys[start:end])
            self._stored.set_page(number, packed)
            written += len(packed)
        if head.splits:
            self._stored.drop_page(head.number())
        return written


class StoredState:
    """Head, log and pages of one shard, as they were committed and as this batch changes them."""

    def __init__(self, handle: Any) -> None:
        self._parts = handle.getMapState("shard", KEY, VALUE)

    def head(self) -> LogHead:
        found = self._parts.getValue(HEAD)
        return LogHead() if found is None else LogHead.decode(bytes(found[1]))

    def set_head(self, head: LogHead) -> None:
        self._parts.updateValue(HEAD, (b"", head.encode()))

    def entry(self, seq: int) -> tuple[bytes, bytes] | None:
        """Return the digest before a log entry, and the entry."""
        found = self._parts.getValue(("log", seq))
        return None if found is None else (bytes(found[0]), bytes(found[1]))

    def append(self, seq: int, previous: bytes, entry: bytes) -> None:
        self._parts.updateValue(("log", seq), (previous, entry))

    def drop(self, seq: int) -> None:
        self._parts.removeKey(("log", seq))

    def page(self, number: int) -> bytes | None:
        found = self._parts.getValue(("page", number))
        return None if found is None else bytes(found[1])

    def set_page(self, number: int, packed: bytes) -> None:
        self._parts.updateValue(("page", number), (b"", packed))

    def drop_page(self, number: int) -> None:
        self._parts.removeKey(("page", number))
