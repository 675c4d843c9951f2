"""What the operator puts out, as tests compare it."""

from collections.abc import Iterator

from verdict.streaming.exactly_once.chunk import records_in
from verdict.write_side.processor.outputs import Output


def unpacked(chunk: bytes) -> Iterator[Output]:
    """Yield the outputs in a chunk."""
    return map(Output._make, records_in(chunk))
