"""The Spark shell around a shard's batch."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from verdict.adapters.spark.gc import collector_paused, spare_imports
from verdict.adapters.storage.folders import in_store
from verdict.model.source import Source
from verdict.streaming.exactly_once.chunk import chunks
from verdict.streaming.exactly_once.outputs import Handover
from verdict.streaming.exactly_once.state_moves import StateTransition, packed
from verdict.wire.topics import Topics
from verdict.write_side.decide.handle import Limits
from verdict.write_side.decide.parse import CommandRecord
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.processor.latency_sample import LatencySampler
from verdict.write_side.processor.slices import in_slices
from verdict.write_side.state.seed import pieces
from verdict.write_side.state.shard_state import MapShardState, ShardStore

INPUT_COLUMNS = (
    "topic", "partition", "offset", "timestamp", "key", "value", "length", "sha256",
    "attempt", "key_length", "key_sha256", "reply_to",
)  # fmt: skip


def unknown() -> int:
    """Say that nobody knows when the batch was planned: then nothing is ever forgotten."""
    return 0


class CommandProcessor(StatefulProcessor):
    """Decides the commands of a shard; Spark calls it once per shard and micro-batch.

    Args:
        topics: Of the deployment.
        limits: What bounds a decision.
        state: Makes the shard's state from Spark's handle.
        folder: On the local disk, for what is too many bytes for memory; `Handover` says what
            stays there.
        planned_at: Says, in a worker, when the batch under way was planned, as
            `ShardStore.commit` takes it.
    """

    def __init__(
        self,
        topics: Topics,
        limits: Limits,
        state: Callable[[StatefulProcessorHandle], ShardStore] = MapShardState,
        folder: Path | None = None,
        planned_at: Callable[[], int] = unknown,
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
        """Decide all rows of one shard, and tell from where to where its state moved.

        Spark hands a group over as several frames without any order between rows: they are all
        taken together and sorted before the first decision. What is more than a slice is decided
        as if it were several batches.
        """
        sampling = LatencySampler()
        arrived = sampling.watch(record for frame in rows for record in _records(frame))
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        self._state.open(key[0])
        before = self._state.stamp()
        with collector_paused():  # until all that was made has died
            yield from self._decided(key[0], arrived)
        after = self._state.stamp()
        moved = StateTransition(key[0], before, after) if before and after else None
        yield _told(moved, sampling.packed())

    def _decided(self, shard: int, arrived: Iterator[CommandRecord]) -> Iterator[pd.DataFrame]:
        handover, now = Handover(self._folder), self._planned_at()
        here = None if self._folder is None or in_store(self._folder) else self._folder
        for number, part in enumerate(in_slices(arrived, here)):
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


def _told(moved: StateTransition | None, arrived: bytes | None) -> pd.DataFrame:
    """Return the row of `DECIDED_SCHEMA` that tells of a shard."""
    stands = None if moved is None else packed(moved)
    return pd.DataFrame(
        {"outputs": [None], "file": [None], "moved": [stands], "arrived": [arrived]}
    )


def _records(frame: pd.DataFrame) -> Iterator[CommandRecord]:
    columns = (frame[name].tolist() for name in INPUT_COLUMNS)
    for topic, partition, offset, *rest in zip(*columns, strict=True):
        yield CommandRecord(Source(topic, partition, offset), *rest)
