"""Outputs on their way through Spark: many in one value.

Spark would take each record from Python to rows, copy it, and take it back to Arrow for the driver:
for records that nobody looks into on the way, that costs the JVM as much as deciding costs Python.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from verdict.operator.output import Output

RECORDS = 4096
BYTES = 4 * 2**20  # passed by one record at most; small enough for caches, and for any Spark

LAYOUT = pa.schema(
    [
        ("topic", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.string()),
        ("replayable", pa.bool_()),
    ]
)


def chunks(outputs: Iterable[Output]) -> Iterator[bytes]:
    """Yield outputs in their order, as Arrow IPC streams of at most `RECORDS` each."""
    some: list[Output] = []
    size = 0
    for output in outputs:
        some.append(output)
        size += len(output.value)
        if len(some) == RECORDS or size >= BYTES:
            yield _packed(some)
            some, size = [], 0
    if some:
        yield _packed(some)


def unpacked(chunk: bytes) -> Iterator[Output]:
    """Yield the outputs in a chunk."""
    with pa.ipc.open_stream(chunk) as stream:
        columns = [column.to_pylist() for column in stream.read_all().columns]
    return map(Output._make, zip(*columns, strict=True))


def _packed(outputs: list[Output]) -> bytes:
    columns = map(pa.array, zip(*outputs, strict=True), LAYOUT.types)
    batch = pa.record_batch(list(columns), schema=LAYOUT)
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, LAYOUT) as stream:
        stream.write_batch(batch)
    return bytes(written.getvalue())
