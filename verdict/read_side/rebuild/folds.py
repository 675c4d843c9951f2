"""From everything that there ever was to the final rows: on Spark's executors, or here if few.

Both run the same task on the same records; a session of Spark takes longer to start than some
thousand records take to fold.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from verdict.read_side.live.final_rows import CHUNK, FinalRows, final_rows, opened, schema_of
from verdict.read_side.live.stream import Decoder
from verdict.read_side.projections.builder import Rebuildable
from verdict.read_side.rebuild.whole_log import WholeLog
from verdict.read_side.tables.interventions import Amendments
from verdict.read_side.tables.position import Positions
from verdict.streaming.event_log.event_log import EventLog
from verdict.streaming.event_log.record import COLUMNS, RawRecord
from verdict.wire.topics import Topics

# each value is a chunk of rows: none equals another one, and Parquet would look at the size of what
# it has gathered after a hundred values only
OF_FEW_LARGE_VALUES = {
    "parquet.enable.dictionary": "false",
    "parquet.page.size.row.check.min": "1",
    "parquet.block.size.row.check.min": "1",
    "parquet.block.size": str(16 * 2**20),
}
FEW = 50_000  # offsets
FEW_BYTES = 64 * 2**20
PAGE = 1000  # records


class BuildFold(Protocol):
    """Makes the rows of a projection's first table, as chunks that `opened` gives."""

    def __call__(
        self, projection: Rebuildable, ends: Positions, in_force: Amendments
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that follow from everything before `ends`.

        Raises:
            EventsMissingError: Neither Kafka nor the archive has all of it any more.
            HashMismatchError: A row of the archive is not what was archived.
        """


class ExecutorFold:
    """Folds on Spark's executors; what comes out lies in files, as it may be more than fits.

    Args:
        log: Everything that there ever was.
        scratch: A folder of ours.
        partitions: Into how many tasks the keys are spread.
    """

    def __init__(self, log: WholeLog, scratch: Path, partitions: int) -> None:
        self._log = log
        self._scratch = scratch
        self._partitions = partitions

    def __call__(
        self, projection: Rebuildable, ends: Positions, in_force: Amendments
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, as `BuildFold` says."""
        archived, folded = self._scratch / "archived", self._scratch / "folded"
        for folder in (archived, folded):
            shutil.rmtree(folder, ignore_errors=True)
        archived.mkdir(parents=True)
        records = self._log.records(projection, ends, archived)
        table, builder = projection.tables[0], projection.builder
        frame = final_rows(records, self._log.topics, table, builder, self._partitions, in_force)
        frame.write.options(**OF_FEW_LARGE_VALUES).parquet(str(folded))
        for file in sorted(folded.glob("*.parquet")):
            # buffered in advance, Arrow would hold all that was read until the file is closed
            with pq.ParquetFile(file, pre_buffer=False) as parquet:
                for one in parquet.iter_batches(1, columns=[CHUNK]):
                    yield opened(one.column(CHUNK)[0].as_buffer())
        shutil.rmtree(self._scratch)


class LocalFold:
    """Folds records that `is_small` has read, in this process.

    Args:
        records: All before the ends that are folded to.
        topics: Of the deployment.
    """

    def __init__(self, records: Sequence[RawRecord], topics: Topics) -> None:
        self._records = records
        self._topics = topics

    def __call__(
        self, projection: Rebuildable, ends: Positions, in_force: Amendments
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, as `BuildFold` says."""
        table, builder = projection.tables[0], projection.builder
        records = sorted(self._records, key=_by_key) if builder.by_key else self._records
        pages = (records[start : start + PAGE] for start in range(0, len(records), PAGE))
        task = FinalRows(Decoder(self._topics), builder, schema_of(table), in_force)
        for chunks in task(map(_columns, pages)):
            yield opened(chunks.column(CHUNK)[0].as_buffer())


def is_small(events: EventLog, ends: Positions) -> list[RawRecord] | None:
    """Return all records before `ends`; None if they are more than should be held here.

    Raises:
        EventsMissingError, HashMismatchError: As for `BuildFold`.
        UnreachableError: Kafka does not answer.
    """
    if sum(ends.values()) > FEW:
        return None
    records, size = [], 0
    for one in events.read({}, ends):
        records.append(one)
        size += len(one.key or b"") + len(one.value or b"")
        if size > FEW_BYTES:
            return None
    return records


def _by_key(record: RawRecord) -> tuple[bytes, str, int, int]:
    """Return the order of `final_rows.ORDER`; what has no key is nobody's, and comes first."""
    return record.key or b"", record.topic, record.partition, record.offset


def _columns(page: Sequence[RawRecord]) -> pa.RecordBatch:
    columns = [*map(list, zip(*page, strict=True))]
    return pa.RecordBatch.from_arrays(columns, schema=COLUMNS)
