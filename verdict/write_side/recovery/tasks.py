"""The executors' part of a recovery: the fold between two streams of Arrow batches."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa
from pyspark import Accumulator, SparkContext
from pyspark.sql.pandas.types import from_arrow_schema

from verdict.adapters.spark.gc import spare_imports
from verdict.model.application import Application
from verdict.wire.records import encode
from verdict.write_side.recovery.histories import EVENT, RESPONSE, Stored, fold_histories
from verdict.write_side.recovery.outcomes import Memory
from verdict.write_side.state.shard_state import FOR_EVER

ARROW_SCHEMA = pa.schema(
    [
        ("of", pa.binary()),
        ("key", pa.binary()),
        ("entry", pa.binary()),
        ("keep_ms", pa.int64()),
        ("offset", pa.int64()),
        ("fault", pa.string()),
        ("decision", pa.binary()),
    ]
)
FOLDED_SCHEMA = from_arrow_schema(ARROW_SCHEMA)
ROWS = 1000  # of a batch between Spark and its workers: a record can have a megabyte

Count = Accumulator[int]


class Taken(NamedTuple):
    """Counts of what the workers have read and folded."""

    events: Count
    aggregates: Count
    responses: Count


class RecoveryCounts:
    """The progress of the workers; Spark adds the counts of a task when it ends."""

    def __init__(self, context: SparkContext) -> None:
        self.taken = Taken(*(context.accumulator(0) for _ in Taken._fields))

    def reset(self) -> None:
        """Start at 0 again."""
        for count in self.taken:
            count.value = 0

    def __str__(self) -> str:
        events, aggregates, responses = (count.value for count in self.taken)
        return f"{events:,} events of {aggregates:,} aggregates, {responses:,} responses read"


def folded(
    application: Application, memory: Memory, taken: Taken, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Fold the records of one task; hold one batch of them at a time."""
    spare_imports()
    gathered: list[tuple[object, ...]] = []
    for one in fold_histories(application, _records(batches, taken), memory):
        of, key, entry, offset, fault, decision = one
        value, keep_ms = entry or (None, None)
        gathered.append((of, key, value, keep_ms, offset, fault, decision and encode(decision)))
        if one.entry is not None and one.entry.keep_ms == FOR_EVER:
            taken.aggregates.add(1)
        if len(gathered) == ROWS:
            yield _batch(gathered)
            gathered = []
    yield _batch(gathered)


def _records(batches: Iterable[pa.RecordBatch], taken: Taken) -> Iterator[Stored]:
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in Stored._fields)
        yield from map(Stored._make, zip(*columns, strict=True))
        ranks = batch.column("rank").to_pylist()
        taken.events.add(ranks.count(EVENT))
        taken.responses.add(ranks.count(RESPONSE))


def _batch(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    columns = [*zip(*rows, strict=True)] if rows else [()] * len(ARROW_SCHEMA)
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)
