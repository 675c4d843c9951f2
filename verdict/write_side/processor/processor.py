"""The Spark shell around a shard's batch.

Spark's Kafka source bounds a batch by its records, not by their bytes. So a batch is decided in
slices of bounded size: one of ordinary commands is one slice, and of the largest commands all
slices but one wait on the local disk.
"""

import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from verdict.adapters.spark.gc import collector_paused, spare_imports
from verdict.adapters.storage.folders import in_store
from verdict.model.source import Source
from verdict.streaming.exactly_once.output_chunks import chunks
from verdict.streaming.exactly_once.outputs import Handover
from verdict.streaming.exactly_once.state_moves import packed_move
from verdict.wire.command_record import INPUT_COLUMNS, CommandRecord
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.processor.latency import packed_sample
from verdict.write_side.state.seed import pieces
from verdict.write_side.state.shard_state import ShardStore

SLICE_BYTES = 16 * 2**20  # of values: in memory while rows arrive, and then in each slice

OnDisk = dict[tuple[str, int, int], tuple[int, int]]  # place → where in the file, how many bytes


class CommandProcessor(StatefulProcessor):
    """Decides the commands of a shard; Spark calls it once per shard and micro-batch.

    `folder` is on the local disk, for outputs that are too large for memory. `planned_at` says in a
    worker when the batch was planned, as `ShardStore.commit` takes it; at 0 nothing is forgotten.
    """

    def __init__(
        self,
        topics: Topics,
        limits: Limits,
        state: Callable[[StatefulProcessorHandle], ShardStore],
        folder: Path | None = None,
        planned_at: Callable[[], int] = lambda: 0,
    ) -> None:
        self._topics = topics
        self._limits = limits
        self._folder = folder
        self._planned_at = planned_at
        self._make_state = state

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; called once per partition and batch."""
        spare_imports()
        self._state = self._make_state(handle)

    def handleInputRows(  # type: ignore[override]  # transformWithStateInPandas passes frames
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Decide all rows of one shard, and say from where to where its state moved.

        Spark hands a group over as several frames without any order between rows, so all are taken
        and sorted before the first decision.
        """
        arrived = array("q")
        records = (record for frame in rows for record in _records(frame, arrived))
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        self._state.open(key[0])
        before = self._state.stamp()
        with collector_paused():  # until all that was made has died
            yield from self._decided(key[0], records)
        after = self._state.stamp()
        moved = packed_move(key[0], before, after) if before and after else None
        facts = {"moved": [moved], "arrived": [packed_sample(arrived)]}
        yield pd.DataFrame({"outputs": [None], "file": [None], **facts})

    def _decided(self, shard: int, records: Iterator[CommandRecord]) -> Iterator[pd.DataFrame]:
        handover, now = Handover(self._folder), self._planned_at()
        here = None if self._folder is None or in_store(self._folder) else self._folder
        for number, part in enumerate(in_slices(records, here)):
            if number:
                self._state.open(shard)
            batch = ShardBatch(self._topics, self._limits, self._state)
            for chunk in chunks(batch.decide(part)):
                yield handover.frame(chunk)
            batch.commit(now)

    def handleInitialState(  # type: ignore[override]
        self, key: Any, initialState: pd.DataFrame, timerValues: TimerValues
    ) -> None:
        """Let a fresh shard begin with what its seed files hold; Spark calls it in batch 0 only."""
        for file in sorted(initialState["file"]):  # as `stamp_of` does
            for piece in pieces(file):
                self._state.open(key[0])
                self._state.commit(piece, 0)


def _records(frame: pd.DataFrame, arrived: "array[int]") -> Iterator[CommandRecord]:
    """Yield the records of a frame, and note their times."""
    arrived.extend(frame["timestamp"].tolist())
    columns = (frame[name].tolist() for name in INPUT_COLUMNS)
    for topic, partition, offset, *rest in zip(*columns, strict=True):
        yield CommandRecord(Source(topic, partition, offset), *rest)


def in_slices(
    records: Iterable[CommandRecord], folder: Path | None, slice_bytes: int = SLICE_BYTES
) -> Iterator[list[CommandRecord]]:
    """Yield the records in the order of (topic, partition, offset), a slice at a time.

    The values that are more than a slice wait in a file, which is made at the first write.
    """
    room, waiting, on_disk = slice_bytes, list[CommandRecord](), OnDisk()
    place = None if folder is None else str(folder)
    with tempfile.SpooledTemporaryFile(max_size=1, dir=place) as file:
        for record in records:
            size = len(record.value or b"")
            if size <= room:
                room -= size
                waiting.append(record)
            else:
                on_disk[record.place] = file.tell(), size
                file.write(record.value or b"")
                waiting.append(record._replace(value=None))
        waiting.sort(key=attrgetter("place"))
        if on_disk:
            yield from _parts(waiting, file, slice_bytes, on_disk)
        elif waiting:
            yield waiting


def _parts(
    waiting: Iterable[CommandRecord], file: IO[bytes], slice_bytes: int, on_disk: OnDisk
) -> Iterator[list[CommandRecord]]:
    part: list[CommandRecord] = []
    size = 0
    for record in waiting:
        whole = record
        if record.place in on_disk:
            at, length = on_disk[record.place]
            file.seek(at)
            whole = record._replace(value=file.read(length))
        part.append(whole)
        size += len(whole.value or b"")
        if size >= slice_bytes:
            yield part
            part, size = [], 0
    if part:
        yield part
