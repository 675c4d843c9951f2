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

from aggregates.handle import Limits
from aggregates.operator.batch import ShardBatch
from aggregates.operator.chunk import chunks
from aggregates.operator.handover import Handover
from aggregates.operator.seed import pieces
from aggregates.operator.shard_state import MapShardState, ShardState
from aggregates.operator.slices import in_slices
from aggregates.received import CommandRecord
from schemas.collector import collector_paused, spare_imports
from schemas.source import Source
from schemas.topics import Topics

INPUT_COLUMNS = (
    "topic", "partition", "offset", "timestamp", "key", "value", "length", "sha256",
    "attempt",
)  # fmt: skip


class CommandProcessor(StatefulProcessor):
    """Decides the commands of a shard; Spark calls it once per shard and micro-batch.

    Args:
        topics: Of the deployment.
        limits: What bounds a decision.
        state: Makes the shard's state from Spark's handle.
        folder: On the local disk, for what is too many bytes for memory; `Handover` says what
            stays there.
    """

    def __init__(
        self,
        topics: Topics,
        limits: Limits,
        state: Callable[[StatefulProcessorHandle], ShardState] = MapShardState,
        folder: Path | None = None,
    ) -> None:
        self._topics = topics
        self._limits = limits
        self._folder = folder
        self._make_state = state

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; called once per partition and batch."""
        spare_imports()
        self._state = self._make_state(handle)

    def handleInputRows(  # type: ignore[override]  # transformWithStateInPandas passes frames
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Decide all rows of one shard.

        Spark hands a group over as several frames without any order between rows: they are all
        taken together and sorted before the first decision. What is more than a slice is decided
        as if it were several batches.
        """
        arrived = (record for frame in rows for record in _records(frame))
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        handover = Handover(self._folder)
        with collector_paused():
            for part in in_slices(arrived, self._folder):
                self._state.open(key[0])
                batch = ShardBatch(self._topics, self._limits, self._state)
                for chunk in chunks(batch.decide(part)):
                    yield handover.frame(chunk)
                batch.commit()

    def handleInitialState(  # type: ignore[override]
        self, key: Any, initialState: pd.DataFrame, timerValues: TimerValues
    ) -> None:
        """Let a fresh shard begin with what its seed files hold; Spark calls it in batch 0 only.

        Args:
            key: The shard.
            initialState: A row for each seed file, `SEEDS_SCHEMA`.
            timerValues: Not used.
        """
        for file in initialState["file"]:
            for piece in pieces(file):
                self._state.open(key[0])
                self._state.commit(piece, 0)


def _records(frame: pd.DataFrame) -> Iterator[CommandRecord]:
    columns = (frame[name].tolist() for name in INPUT_COLUMNS)
    for topic, partition, offset, timestamp, key, value, length, digest, attempt in zip(
        *columns, strict=True
    ):
        source = Source(topic, partition, offset)
        yield CommandRecord(source, timestamp, key, value, length, digest, attempt)
