"""Records of Kafka in Parquet files; readers of the log need no Arrow."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from verdict.streaming.event_log.record import RawRecord

COLUMNS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
PAGE = 1000  # records in memory at a time: one may have a megabyte


def write_parquet(records: Iterator[RawRecord], file: Path) -> None:
    """Write the records as Parquet, a page at a time: Spark has no driver for the database."""
    with file.open("wb") as content, pq.ParquetWriter(content, COLUMNS) as writer:
        while page := [*islice(records, PAGE)]:
            columns = [*map(list, zip(*page, strict=True))]
            writer.write_table(pa.table(columns, schema=COLUMNS))
