"""The head of a shard's log, and which page is folded next: arithmetic without any storage."""

from hashlib import sha256
from struct import Struct
from typing import NamedTuple

from verdict.streaming.exactly_once.state_moves import NO_DIGEST
from verdict.write_side.state.entries import HASH_BYTES

LAYOUT = Struct(">qqqqBBqqqq32sq")
PAGE_BYTES = 256 * 1024  # mean size at which a round of folding also splits every page ...
SPLIT_TO = 4  # ... into pages of at most a quarter, as a growing state triples in a round
CREDIT_PER_BATCH = 4096  # so that a round ends, and the log is cut, under tiny batches too
DROPS_PER_BATCH = 64  # a long log is cut little by little, never in one batch

# What passes between two batches counts so far: a quiet night does, a clock that leaps by years
# costs no more of the memory than this.
LONGEST_STEP_MS = 12 * 60 * 60 * 1000


class LogHead(NamedTuple):
    """The head of a shard's log, kept in Spark's state and replaced once per batch.

    Pages divide the space of key hashes evenly: at `level` there are 2**level of them. A round
    folds one after the other; in a splitting round each is written as 2**splits pages of the
    level that is so much higher.
    """

    seq: int = 0  # of the newest log entry
    oldest: int = 1  # log entry that is kept
    needed: int = 1  # entries below it are in the pages and may be dropped
    round_seq: int = 0  # the newest entry when the round began
    level: int = 0  # how often the pages have been split
    splits: int = 0  # how often this round splits every page, mostly 0
    cursor: int = 0  # the page, at `level`, that is folded next
    folded: int = 0  # bytes that this round has folded
    credit: int = 0  # bytes that may be folded before more are written
    clock: int = 0  # milliseconds that have passed, by which entries expire
    digest: bytes = NO_DIGEST  # over all log entries in their order
    seen: int = 0  # when the batch before was planned, in epoch milliseconds; 0 before the first

    @classmethod
    def decode(cls, stored: bytes) -> "LogHead":
        return cls(*LAYOUT.unpack(stored))

    def encode(self) -> bytes:
        return LAYOUT.pack(*self)

    def at(self, now: int) -> "LogHead":
        """Return the head with its clock moved on to a batch that was planned at `now`.

        The clock of the host that plans batches may leap: forward it counts a step of half a day at
        most, back it counts nothing. Late is harmless, then ids are remembered for longer.
        """
        if now == 0:
            return self
        passed = now - self.seen if self.seen else 0
        return self._replace(clock=self.clock + min(max(passed, 0), LONGEST_STEP_MS), seen=now)

    def appended(self, entry: bytes) -> "LogHead":
        """Return the head after `entry` was appended to the log."""
        return self._replace(seq=self.seq + 1, digest=chained(self.digest, entry))

    def folded_one(self, size: int) -> "LogHead":
        """Return the head after the page at `cursor` was folded to `size` bytes.

        The last page of a round ends it: what was logged before the round began is in the pages.
        """
        after = self._replace(
            cursor=self.cursor + 1, folded=self.folded + size, credit=self.credit - size
        )
        if after.cursor < 1 << self.level:
            return after
        level = self.level + self.splits
        return after._replace(
            needed=self.round_seq + 1,
            round_seq=self.seq,
            level=level,
            splits=_splits(after.folded >> level),
            cursor=0,
            folded=0,
            credit=min(after.credit, 0),  # more than one round a batch would be idle work
        )

    def page_range(self) -> tuple[bytes, bytes | None]:
        """Return the first key hash of the page at `cursor`, and of the next page (None: last)."""
        following = self.cursor + 1
        end = None if following == 1 << self.level else _hash_at(following, self.level)
        return _hash_at(self.cursor, self.level), end

    def number(self) -> int:
        """Return the number of the page at `cursor`."""
        return page_number(self.level, self.cursor)

    def parts(self) -> list[tuple[int, bytes]]:
        """Return number and first key hash of each page that the one at `cursor` is written as."""
        level, first = self.level + self.splits, self.cursor << self.splits
        pages = range(first, first + (1 << self.splits))
        return [(page_number(level, page), _hash_at(page, level)) for page in pages]

    def written_pages(self) -> list[int]:
        """Return the numbers of all pages that hold something now, in the order of their hashes."""
        split = range(self.cursor << self.splits if self.splits else 0)
        unsplit = range(self.cursor if self.splits else 0, 1 << self.level)
        upper = [page_number(self.level + self.splits, page) for page in split]
        return upper + [page_number(self.level, page) for page in unsplit]


def page_number(level: int, page: int) -> int:
    """Return a number that is unique over all levels: a page's halves are 2n and 2n + 1."""
    return (1 << level) + page


def _splits(mean: int) -> int:
    splits = 0
    if mean > PAGE_BYTES:
        while mean * SPLIT_TO > PAGE_BYTES << splits:
            splits += 1
    return splits


def chained(digest: bytes, entry: bytes) -> bytes:
    """Return the digest of a log that had `digest` before `entry`."""
    digests = sha256(digest)
    digests.update(entry)  # not joined: an entry may be large
    return digests.digest()


def _hash_at(page: int, level: int) -> bytes:
    return (page << (8 * HASH_BYTES - level)).to_bytes(HASH_BYTES, "big")
