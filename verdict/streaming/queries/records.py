"""Kafka's records on an executor, as the readers of commands and events take them."""

from collections.abc import Iterator

import pyarrow as pa

from verdict.model.source import Source
from verdict.write_side.decide.parse import CommandRecord
from verdict.write_side.processor.processor import INPUT_COLUMNS


def records_in(batches: Iterator[pa.RecordBatch]) -> Iterator[CommandRecord]:
    """Yield the records of batches whose columns are `INPUT_COLUMNS`."""
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in INPUT_COLUMNS)
        for topic, partition, offset, *rest in zip(*columns, strict=True):
            yield CommandRecord(Source(topic, partition, offset), *rest)
