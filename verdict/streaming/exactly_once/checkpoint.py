"""What Spark's checkpoint says: which batch was planned, from where to where, and if it is done."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verdict.adapters.kafka.offsets import AnyOffsets, Offsets, offsets_text
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.checkpoint_files import (
    COMMITS,
    INITIAL,
    METADATA,
    OFFSETS,
    batches,
    check_commit,
    damaged_file,
    end_offsets,
    exists,
    initial_offsets,
    query_id,
    shards_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPosition:
    """How far Spark's own books go.

    `last` is the batch that was planned last, `committed` whether Spark is done with it.
    `initial` is where the source began. What is not written yet is None: in a fresh checkpoint
    everything, between Spark's start and its first batch only `last` and `shards`.
    """

    query_id: str | None = None
    initial: Offsets | None = None
    shards: int | None = None
    last: SourceBatch | None = None
    committed: bool = False

    def __str__(self) -> str:
        if self.last is not None:
            return f"{self.last}, {'committed' if self.committed else 'not committed'}"
        if self.initial is not None:
            return (
                f"Spark query {self.query_id} without a batch, from ({offsets_text(self.initial)})"
            )
        return "fresh, without a batch"


FRESH = CheckpointPosition()


def remove_torn_files(checkpoint: Path) -> None:
    """Remove what a kill left of files that Spark was writing; a file counts once it is renamed.

    Spark looks at whole ones only, but refuses to begin in a checkpoint that holds a torn one.
    """
    for folder in (OFFSETS, COMMITS):
        for torn in (checkpoint / folder).glob(".*.tmp"):
            torn.unlink()


def checkpoint_position(checkpoint: Path) -> CheckpointPosition:
    """Return how far the checkpoint in this directory goes; one that does not exist is fresh.

    Raises:
        DamagedCheckpointError: A file is missing, cut off or unknown; the message names it.
    """
    last = max(batches(checkpoint / OFFSETS), default=-1)
    done = max(batches(checkpoint / COMMITS), default=-1)
    if done not in (last, last - 1):
        raise damaged_file(
            checkpoint / COMMITS, f"ends at batch {done}, but the batch planned last is {last}"
        )
    if last < 0:
        return CheckpointPosition(
            query_id=query_id(checkpoint) if exists(checkpoint / METADATA) else None,
            initial=initial_offsets(checkpoint) if exists(checkpoint / INITIAL) else None,
        )
    if done >= 0:
        check_commit(checkpoint, done)
    return CheckpointPosition(
        query_id=query_id(checkpoint),
        initial=initial_offsets(checkpoint),
        shards=shards_of(checkpoint, last),
        last=batch_of(checkpoint, last),
        committed=done == last,
    )


def batch_of(checkpoint: Path, batch_id: int) -> SourceBatch:
    """Return the batch that the checkpoint planned under `batch_id`.

    Inside `foreachBatch` it is there: Spark plans a batch before it runs it.

    Raises:
        DamagedCheckpointError: A file is missing, cut off or unknown; the message names it.
    """
    previous = batch_id - 1
    return SourceBatch(
        query_id=query_id(checkpoint),
        batch_id=batch_id,
        start=initial_offsets(checkpoint) if batch_id == 0 else end_offsets(checkpoint, previous),
        end=end_offsets(checkpoint, batch_id),
    )


def starting_offsets(offsets: AnyOffsets, partitions: Mapping[str, int]) -> str:
    """Return `offsets` as Spark's Kafka source wants its option of that name."""
    every: dict[str, dict[str, int]] = {}
    for topic, count in partitions.items():
        known = [*offsets.get(topic, ()), *[0] * count][:count]
        every[topic] = {str(number): offset for number, offset in enumerate(known)}
    return json.dumps(every)
