"""When the commands of a batch had arrived in Kafka: a sample of each shard, on its way home.

When they are answered only the driver knows, once the batch is published.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from verdict.write_side.decide.parse import CommandRecord

MOST = 128  # times of a shard and batch


class BatchArrival(NamedTuple):
    """Of so many commands every so-manyth arrived at these times, in epoch milliseconds."""

    commands: int
    millis: Sequence[int]


class LatencySampler:
    """Takes every command's time, then every second one's, and so on: never more than `MOST`."""

    def __init__(self) -> None:
        self._commands = 0
        self._stride = 1
        self._millis = array("q")

    def watch(self, records: Iterable[CommandRecord]) -> Iterator[CommandRecord]:
        """Yield the records."""
        for number, record in enumerate(records):
            if number % self._stride == 0:
                self._take(record.timestamp)
            self._commands = number + 1
            yield record

    def _take(self, millis: int) -> None:
        if len(self._millis) == MOST:
            self._millis = self._millis[::2]
            self._stride *= 2
        self._millis.append(millis)

    def packed(self) -> bytes | None:
        """Return all of it; None without a command."""
        return array("q", [self._commands, *self._millis]).tobytes() if self._commands else None


def arrivals_of(table: pa.Table) -> Iterator[BatchArrival]:
    """Yield what a table of `DECIDED_SCHEMA` tells of arrivals; both ends are of one byte order."""
    for packed in table["arrived"].drop_null().to_pylist():
        commands, *millis = array("q", packed)
        yield BatchArrival(commands, array("q", millis))
