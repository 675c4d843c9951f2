"""A shard's entries on the local disk: an LMDB file that follows the committed log.

It is a cache. It may be lost, old, ahead, or of another history, and any process of this host may
use it. It is trusted only if its stamp (sequence number and digest) is on the committed log, and
only committed log entries advance it.

The entry that was appended last, committed or not, is kept in a file next to it. Its digest says
which it is. So Spark need not be asked for it, whose JVM answers with a text of all its bytes.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from struct import Struct
from typing import cast

import lmdb
import psutil

from verdict.streaming.exactly_once.state_moves import Stamp
from verdict.write_side.state.entries import KeyHash, StoredEntry, unpack

APPENDED = "appended"
STAMP = b"stamp"
REBUILDER = b"rebuilder"
STAMP_LAYOUT = Struct(">q32s")
MAP_BYTES = 1 << 38  # address space, not disk: the file grows with what it holds
READ_AHEAD = 64  # entries: to look at each one's key takes longer than to read it


class LmdbCache:
    """The local copy of one shard.

    Copies are made under the name of this boot of the machine: nothing is flushed, and what a power
    failure left must never be opened.
    """

    def __init__(self, folder: Path, shard: int) -> None:
        path = folder / boot_id() / str(shard)
        self._env, self._entries, self._about = _opened(path)
        self._appended = path / APPENDED
        self._reading: lmdb.Transaction | None = None

    def begin(self) -> Stamp | None:
        """Start to read; return the stamp of what is read until `end`, None for an empty copy."""
        self.end()
        self._reading = self._env.begin(db=self._entries)
        stamp = self._reading.get(STAMP, db=self._about)
        return None if stamp is None else STAMP_LAYOUT.unpack(stamp)

    def end(self) -> None:
        if self._reading is not None:
            self._reading.abort()
            self._reading = None

    def get(self, key: KeyHash) -> StoredEntry | None:
        """Return an entry as of `begin`."""
        assert self._reading is not None
        # bytes, as `begin` asks for no buffers
        return cast("StoredEntry | None", self._reading.get(key))

    def between(self, first: KeyHash, end: KeyHash | None) -> Iterator[tuple[KeyHash, StoredEntry]]:
        """Yield the entries from `first` up to but without `end`, as of `begin`."""
        assert self._reading is not None
        with self._reading.cursor(db=self._entries) as cursor:
            if not cursor.set_range(first):
                return
            entries = cast("Iterator[tuple[KeyHash, StoredEntry]]", iter(cursor))
            while some := [*islice(entries, READ_AHEAD)]:
                if end is not None and some[-1][0] >= end:
                    yield from takewhile(lambda found: found[0] < end, some)
                    return
                yield from some

    def advance(self, blob: bytes, stamp: Stamp, expected: Stamp) -> bool:
        """Apply one log entry, if the copy still has the stamp that the caller saw."""
        self.end()
        with self._env.begin(write=True) as writing:
            found = writing.get(STAMP, db=self._about)
            if found != STAMP_LAYOUT.pack(*expected):
                return False
            self._apply(writing, blob)
            writing.put(STAMP, STAMP_LAYOUT.pack(*stamp), db=self._about)
        return True

    def save_last_entry(self, entry: bytes) -> None:
        """Keep the log entry that this batch appends."""
        part = self._appended.with_name(f"{APPENDED}.{os.getpid()}")
        with suppress(OSError):  # the folder may be lost at any time
            part.write_bytes(entry)
            part.replace(self._appended)

    def last_entry(self) -> bytes | None:
        """Return the log entry that a batch appended last, None if none is kept."""
        try:
            return self._appended.read_bytes()
        except OSError:
            return None

    def rebuild(self, blobs: Iterable[bytes], stamp: Stamp) -> None:
        """Replace everything by pages and then log entries, in their order.

        There is no stamp until it is complete, so an interrupted rebuild is never trusted. If
        another process begins a rebuild, too, the earlier one gives up.
        """
        self.end()
        ticket = f"{os.getpid()} {time.monotonic_ns()}".encode()
        with self._env.begin(write=True) as writing:
            writing.delete(STAMP, db=self._about)
            writing.put(REBUILDER, ticket, db=self._about)
            writing.drop(self._entries, delete=False)
        for blob in blobs:  # one by one: a transaction holds 4 KiB for each entry that it writes
            with self._env.begin(write=True) as writing:
                if writing.get(REBUILDER, db=self._about) != ticket:
                    return
                self._apply(writing, blob)
        with self._env.begin(write=True) as writing:
            if writing.get(REBUILDER, db=self._about) == ticket:
                writing.put(STAMP, STAMP_LAYOUT.pack(*stamp), db=self._about)

    def _apply(self, writing: lmdb.Transaction, blob: bytes) -> None:
        found = list(unpack(blob))
        with writing.cursor(db=self._entries) as cursor:
            cursor.putmulti([(key, entry) for key, entry in found if entry is not None])
        for key, entry in found:
            if entry is None:  # listed behind what is kept
                writing.delete(key, db=self._entries)


@cache  # LMDB allows one open environment per file and process
def _opened(path: Path) -> tuple[lmdb.Environment, lmdb._Database, lmdb._Database]:
    for old in path.parent.parent.glob("*"):
        if old.name != path.parent.name:
            shutil.rmtree(old, ignore_errors=True)
    path.mkdir(parents=True, exist_ok=True)
    try:
        env = _environment(path)
    except (lmdb.InvalidError, lmdb.CorruptedError, lmdb.VersionMismatchError):
        # a cache is never a reason to stop; a process with the old files open keeps them
        shutil.rmtree(path)
        path.mkdir()
        env = _environment(path)
    env.reader_check()  # readers of processes that were killed would pin old pages
    return env, env.open_db(b"entries"), env.open_db(b"about")


def _environment(path: Path) -> lmdb.Environment:
    return lmdb.open(str(path), map_size=MAP_BYTES, max_dbs=2, sync=False, metasync=False)


def executor_folder() -> Path:
    """Return a folder of this executor's own, on a cluster; it is removed with the executor."""
    folders = os.environ.get("SPARK_LOCAL_DIRS") or os.environ.get("LOCAL_DIRS")  # those of YARN
    return Path(folders.split(",")[0] if folders else tempfile.gettempdir(), "verdict-state")


@cache
def boot_id() -> str:
    """Return a name of this boot of the machine; another one after a restart."""
    linux = Path("/proc/sys/kernel/random/boot_id")
    return linux.read_text().strip() if linux.exists() else str(int(psutil.boot_time()))
