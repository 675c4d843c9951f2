"""A shard's batch in slices of bounded size, so that memory does not grow with what senders send.

Spark's Kafka source bounds a batch by its records, not by their bytes. A batch of ordinary commands
is one slice; one of the greatest commands is many, and all but one of them wait on the local disk.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import IO

from verdict.write_side.decide.parse import CommandRecord

SLICE_BYTES = 16 * 2**20  # of values: in memory while rows arrive, and then in each slice

Place = tuple[str, int, int]
OnDisk = tuple[int, int]  # where in the file, and how many bytes


def in_slices(
    records: Iterable[CommandRecord], folder: Path | None, slice_bytes: int = SLICE_BYTES
) -> Iterator[list[CommandRecord]]:
    """Yield the records in the order of (topic, partition, offset), a slice at a time."""
    place = None if folder is None else str(folder)
    with tempfile.SpooledTemporaryFile(max_size=1, dir=place) as file:  # made at the first write
        on_disk: dict[Place, OnDisk] = {}
        waiting = sorted(_spilled(records, file, slice_bytes, on_disk), key=attrgetter("place"))
        if on_disk:
            yield from _parts(waiting, file, slice_bytes, on_disk)
        elif waiting:
            yield waiting


def _spilled(
    records: Iterable[CommandRecord], file: IO[bytes], room: int, on_disk: dict[Place, OnDisk]
) -> Iterator[CommandRecord]:
    """Yield the records; once their values have filled the room, without them."""
    end = 0
    for record in records:
        value = record.value
        if value is None:
            yield record
        elif len(value) <= room:
            room -= len(value)
            yield record
        else:
            file.write(value)
            on_disk[record.place] = end, len(value)
            end += len(value)
            yield record._replace(value=None)


def _parts(
    waiting: Iterable[CommandRecord],
    file: IO[bytes],
    slice_bytes: int,
    on_disk: Mapping[Place, OnDisk],
) -> Iterator[list[CommandRecord]]:
    part: list[CommandRecord] = []
    size = 0
    for record in waiting:
        found = on_disk.get(record.place)
        whole = record if found is None else _back(record, file, found)
        part.append(whole)
        size += len(whole.value or b"")
        if size >= slice_bytes:
            yield part
            part, size = [], 0
    if part:
        yield part


def _back(record: CommandRecord, file: IO[bytes], on_disk: OnDisk) -> CommandRecord:
    at, size = on_disk
    file.seek(at)
    return record._replace(value=file.read(size))
