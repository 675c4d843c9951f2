"""The head of a shard's log, and which page is folded next: arithmetic without any storage."""

from dataclasses import dataclass, replace
from hashlib import sha256
from struct import Struct

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


@dataclass(frozen=True, slots=True)
class LogHead:
    """The head of a shard's log, kept in Spark's state and replaced once per batch.

    Pages divide the space of key hashes evenly: at `level` there are 2**level of them. A round
    folds one after the other; in a splitting round each is written as 2**splits pages of the
    level that is so much higher. `cursor` is the page that is folded next.

    Args:
        seq: Of the newest log entry.
        oldest: Of the oldest log entry that is kept.
        needed: Entries below it are in the pages and may be dropped.
        round_seq: The newest entry when the round began.
        level: How often the pages have been split.
        splits: How often this round splits every page, mostly 0.
        cursor: The page, at `level`, that is folded next.
        folded: Bytes that this round has folded.
        credit: Bytes that may be folded before more are written.
        clock: Milliseconds that have passed, by which entries expire; only differences count.
        digest: Over all log entries in their order: it tells one history from another.
        seen: When the batch before was planned, in epoch milliseconds; 0 before the first.
    """

    seq: int = 0
    oldest: int = 1
    needed: int = 1
    round_seq: int = 0
    level: int = 0
    splits: int = 0
    cursor: int = 0
    folded: int = 0
    credit: int = 0
    clock: int = 0
    digest: bytes = NO_DIGEST
    seen: int = 0

    @classmethod
    def decode(cls, stored: bytes) -> "LogHead":
        """Return the head in `stored`."""
        return cls(*LAYOUT.unpack(stored))

    def encode(self) -> bytes:
        """Return the head as it is stored."""
        return LAYOUT.pack(
            self.seq, self.oldest, self.needed, self.round_seq, self.level, self.splits,
            self.cursor, self.folded, self.credit, self.clock, self.digest, self.seen,
        )  # fmt: skip

    def at(self, now: int) -> "LogHead":
        """Return the head with its clock moved on to a batch that was planned at `now`.

        The clock of the host that plans batches may leap: forward it counts a step of half a day at
        most, back it counts nothing. Late is harmless, then ids are remembered for longer.
        """
        if now == 0:
            return self
        passed = now - self.seen if self.seen else 0
        return replace(self, clock=self.clock + min(max(passed, 0), LONGEST_STEP_MS), seen=now)

    def appended(self, entry: bytes) -> "LogHead":
        """Return the head after `entry` was appended to the log."""
        return replace(self, seq=self.seq + 1, digest=chained(self.digest, entry))

    def folded_one(self, size: int) -> "LogHead":
        """Return the head after the page at `cursor` was folded to `size` bytes.

        The last page of a round ends it: what was logged before the round began is in the pages.
        """
        after = replace(
            self, cursor=self.cursor + 1, folded=self.folded + size, credit=self.credit - size
        )
        if after.cursor < 1 << self.level:
            return after
        level = self.level + self.splits
        return replace(
            after,
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
        last = following == 1 << self.level
        return self._first_hash(self.cursor), None if last else self._first_hash(following)

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

    def _first_hash(self, page: int) -> bytes:
        return _hash_at(page, self.level)


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
