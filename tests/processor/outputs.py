"""What the operator puts out, as tests compare it."""

from collections.abc import Iterator

from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.output_chunks import records_in


def unpacked(chunk: bytes) -> Iterator[OutputRecord]:
    """Yield the outputs in a chunk."""
    return map(OutputRecord._make, records_in(chunk))
