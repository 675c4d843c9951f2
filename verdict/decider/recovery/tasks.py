"""What a recovery does on the executors: a fold between two streams of Arrow batches."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark import Accumulator

from verdict.decider.recovery.histories import Folded, Stored

FOLDED_SCHEMA = (
    "of binary, partition bigint, offset bigint, key binary, entry binary, keep_ms bigint, "
    "fault string, version bigint, last_hash binary, instead binary, lost bigint"
)
ARROW_SCHEMA = pa.schema(
    [
        ("of", pa.binary()),
        ("partition", pa.int64()),
        ("offset", pa.int64()),
        ("key", pa.binary()),
        ("entry", pa.binary()),
        ("keep_ms", pa.int64()),
        ("fault", pa.string()),
        ("version", pa.int64()),
        ("last_hash", pa.binary()),
        ("instead", pa.binary()),
        ("lost", pa.int64()),
    ]
)
ROWS = 1000  # of a batch between Spark and its workers: a record may have a megabyte

NOTHING = (None, None)

Count = Accumulator[int]
Fold = Callable[[Iterable[Stored]], Iterator[Folded]]


def folded(
    fold: Fold, taken: Count, given: Count | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `fold` over the records of one task, holding a batch of them at a time.

    Args:
        fold: Gives entries for records.
        taken: Is told how many records were read.
        given: Is told how many entries came of them; None: nobody asks.
        batches: With the columns of `Stored`.

    Yields:
        Batches of `FOLDED_SCHEMA`.
    """
    gathered: list[tuple[object, ...]] = []
    for one in fold(_records(batches, taken)):
        gathered.append(row_of(one))
        if given is not None:
            given.add(1)
        if len(gathered) == ROWS:
            yield _batch(gathered)
            gathered = []
    yield _batch(gathered)


def row_of(folded: Folded) -> tuple[object, ...]:
    """Return the row of `FOLDED_SCHEMA`."""
    entry, stand = folded.entry or NOTHING, folded.stand or NOTHING
    of, key, fault = folded.of, folded.key, folded.fault
    place = of.key, of.partition, of.offset
    return *place, key, *entry, fault, *stand, folded.instead, folded.lost or None


def _records(batches: Iterable[pa.RecordBatch], taken: Count) -> Iterator[Stored]:
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in Stored._fields)
        yield from map(Stored._make, zip(*columns, strict=True))
        taken.add(batch.num_rows)


def _batch(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    columns = [*zip(*rows, strict=True)] if rows else [()] * len(ARROW_SCHEMA)
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)
