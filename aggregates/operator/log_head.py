"""Where a shard's log stands, and which page is folded next: arithmetic without any storage."""

from dataclasses import dataclass, replace
from hashlib import sha256
from struct import Struct

from aggregates.operator.entries import HASH_BYTES

LAYOUT = Struct(">qqqqBBqqqq32s")
PAGE_BYTES = 512 * 1024  # mean size at which a round of folding also splits every page
CREDIT_PER_BATCH = 4096  # so that a round ends, and the log is cut, under tiny batches too
DROPS_PER_BATCH = 64  # a long log is cut little by little, never in one batch

NO_DIGEST = bytes(32)


@dataclass(frozen=True, slots=True)
class LogHead:
    """The head of a shard's log, kept in Spark's state and replaced once per batch.

    Pages divide the space of key hashes evenly: at `level` there are 2**level of them. A round
    folds one after the other; in a splitting round each is written as two pages of the next
    level. `cursor` is the page that is folded next.

    Args:
        seq: Of the newest log entry.
        oldest: Of the oldest log entry that is kept.
        needed: Entries below it are in the pages and may be dropped.
        round_seq: The newest entry when the round began.
        level: How often the pages have been split.
        splitting: Whether this round splits every page.
        cursor: The page, at `level`, that is folded next.
        folded: Bytes that this round has folded.
        credit: Bytes that may be folded before more are written.
        clock: The latest Kafka time seen, in milliseconds.
        digest: Over all log entries in their order: it tells one history from another.
    """

    seq: int = 0
    oldest: int = 1
    needed: int = 1
    round_seq: int = 0
    level: int = 0
    splitting: bool = False
    cursor: int = 0
    folded: int = 0
    credit: int = 0
    clock: int = 0
    digest: bytes = NO_DIGEST

    @classmethod
    def decode(cls, stored: bytes) -> "LogHead":
        """Return the head in `stored`."""
        seq, oldest, needed, round_seq, level, splitting, *rest = LAYOUT.unpack(stored)
        return cls(seq, oldest, needed, round_seq, level, bool(splitting), *rest)

    def encode(self) -> bytes:
        """Return the head as it is stored."""
        return LAYOUT.pack(
            self.seq, self.oldest, self.needed, self.round_seq, self.level, self.splitting,
            self.cursor, self.folded, self.credit, self.clock, self.digest,
        )  # fmt: skip

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
        level = self.level + self.splitting
        return replace(
            after,
            needed=self.round_seq + 1,
            round_seq=self.seq,
            level=level,
            splitting=after.folded > PAGE_BYTES << level,
            cursor=0,
            folded=0,
            credit=min(after.credit, 0),  # more than one round a batch would be idle work
        )

    def page_range(self) -> tuple[bytes, bytes | None]:
        """Return the first key hash of the page at `cursor`, and of the next page (None: last)."""
        following = self.cursor + 1
        last = following == 1 << self.level
        return self._first_hash(self.cursor), None if last else self._first_hash(following)

    def split_at(self) -> bytes:
        """Return the first key hash of the upper half of the page at `cursor`."""
        return _hash_at(2 * self.cursor + 1, self.level + 1)

    def written_pages(self) -> list[int]:
        """Return the numbers of all pages that hold something now."""
        split = 2 * self.cursor if self.splitting else 0
        unsplit = self.cursor if self.splitting else 0
        upper = [page_number(self.level + 1, page) for page in range(split)]
        return upper + [page_number(self.level, page) for page in range(unsplit, 1 << self.level)]

    def _first_hash(self, page: int) -> bytes:
        return _hash_at(page, self.level)


def page_number(level: int, page: int) -> int:
    """Return a number that is unique over all levels: a page's halves are 2n and 2n + 1."""
    return (1 << level) + page


def chained(digest: bytes, entry: bytes) -> bytes:
    """Return the digest of a log that had `digest` before `entry`."""
    return sha256(digest + entry).digest()


def _hash_at(page: int, level: int) -> bytes:
    return (page << (8 * HASH_BYTES - level)).to_bytes(HASH_BYTES, "big")
