"""Entries that a fresh state begins with: Parquet files, read in pieces of bounded size.

Spark would bring a query's initial state to the operator itself, but PySpark 4.2.1 then holds all
of a group in the worker's memory (`itertools.tee` in `pyspark/worker.py`), and a group is a whole
shard. So Spark brings only the names of the shard's files, and the operator reads them.
"""

from collections.abc import Iterable, Iterator

import pyarrow.parquet as pq

from verdict.adapters.storage.folders import located
from verdict.streaming.exactly_once.state_moves import Stamp
from verdict.write_side.state.entries import kept, key_hash, pack
from verdict.write_side.state.log_head import LogHead
from verdict.write_side.state.shard_state import StateEntry

SEED_SCHEMA = "key binary, entry binary, keep_ms bigint"
SEEDS_SCHEMA = "shard int, file string"

# a seed that is recovered with other sizes than it is taken in with is not what the progress says
PIECE_BYTES = 2 * 2**20
PIECE_ENTRIES = 10_000  # the local copy's transaction holds 4 KiB for every entry it places
ROWS = 1000  # that are decoded at a time


def pieces(file: str) -> Iterator[dict[bytes, StateEntry]]:
    """Yield the entries of a file in pieces of at most 10,000 and about 2 MiB.

    No key comes twice in a file.
    """
    piece: dict[bytes, StateEntry] = {}
    size = 0
    # buffered in advance, Arrow would hold all that was read until the file is closed
    with (
        located(file).open("rb") as content,
        pq.ParquetFile(content, pre_buffer=False) as parquet,
    ):
        for batch in parquet.iter_batches(ROWS, columns=["key", "entry", "keep_ms"]):
            columns = (column.to_pylist() for column in batch.columns)
            for key, value, keep_ms in zip(*columns, strict=True):
                piece[key] = StateEntry(value, keep_ms)
                size += len(key) + len(value)
                if size >= PIECE_BYTES or len(piece) >= PIECE_ENTRIES:
                    yield piece
                    piece, size = {}, 0
    if piece:
        yield piece


def stamp_of(files: Iterable[str]) -> Stamp:
    """Return the position of a fresh state that has taken in the seed files of its shard.

    Its clock is at 0, so that an entry expires after just as long as it is kept.
    """
    head = LogHead()
    for file in sorted(files):
        for piece in pieces(file):
            entries = sorted((key_hash(key), kept(*entry)) for key, entry in piece.items())
            head = head.appended(pack(entries))
    return head.seq, head.digest
