"""Checks that a checkpoint, and then each batch, continues where the marker ends. Pure.

Offsets decide, ids do not: a batch id only tells a replay from a batch without input.
"""

from enum import StrEnum, auto

from verdict.adapters.kafka.offsets import going_back, offsets_text, same_offsets
from verdict.streaming.exactly_once.batch import Outputs, SourceBatch, digest
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.errors import CheckpointMismatchError, ReplayDiffersError
from verdict.streaming.exactly_once.query import Query
from verdict.wire.marker import Marker

FIRST_GENERATION = 1
NO_BATCH = -1
REMEDY = (
    "start on the data directory that goes on there (if its owner runs, nothing needs to be done), "
    "or, when it is lost, run `verdict recover`"
)


class Action(StrEnum):
    """What is to be done with the output of a batch."""

    PUBLISH = auto()
    SKIP = auto()


def check_resume(
    marker: Marker | None,
    checkpoint: CheckpointPosition,
    *,
    records_exist: bool,
    shards: int | None = None,
    seeded: int | None = None,
) -> None:
    """Return if `checkpoint` continues where `marker` ends.

    Without both, this is the first start. If a batch is planned and published already, it is
    computed for the state only; if it is planned and not published, it is published.

    Raises:
        CheckpointMismatchError: It does not; the message names both positions and what to do.
    """
    if marker is None:
        _check_first(checkpoint, records_exist)
        return
    _check_shards(marker, checkpoint, shards)
    if marker.batch_id == NO_BATCH:
        _check_after_genesis(marker, checkpoint, records_exist, seeded)
        return
    last = checkpoint.last
    if last is None or last.query_id != marker.query_id:
        raise _mismatch("is not the one that the marker was written with", marker, checkpoint)
    continues = (
        same_offsets(last.end, marker.offsets) if checkpoint.committed else _action(marker, last)
    )
    if not continues:
        raise _behind(marker, checkpoint)


def check_batch(marker: Marker, batch: SourceBatch) -> Action:
    """Return what to do with the output of `batch`, given the owner's marker.

    SKIP is only right if `check_replay` returns.

    Raises:
        CheckpointMismatchError: The batch does not continue where the marker ends; both positions
            are named.
    """
    action = _action(marker, batch)
    if action is None:
        raise CheckpointMismatchError(
            f"{batch} does not continue where the marker ends, which is at {described(marker)}: "
            f"nothing was published; {REMEDY}"
        )
    if action is Action.PUBLISH and (back := going_back(batch.start, batch.end)):
        raise CheckpointMismatchError(
            f"{batch} goes back in {', '.join(back)}: a topic was deleted, or is not read any "
            "more; nothing was published; bring it back, or run `verdict recover`"
        )
    return action


def check_replay(marker: Marker, query: Query, batch: SourceBatch, outputs: Outputs) -> None:
    """Return if a batch that is published already gave the same output again.

    Raises:
        ReplayDiffersError: It did not; the handler versions of both are named.
    """
    computed = digest(outputs)
    if computed == marker.digest:
        return
    # the version that published it before markers knew states cannot go on from today's
    again = "start once with the version that published it, or " if marker.shard_states else ""
    raise ReplayDiffersError(
        f"{batch} is published with the digest {marker.digest.hex()[:16]} by "
        f"handler version {marker.handler_version}, but its replay by "
        f"{query.handler_version} gave {computed.hex()[:16]}: {again}run `verdict recover`"
    )


def described(marker: Marker | None) -> str:
    """Return the marker's position for people."""
    if marker is None:
        return "no marker"
    batch = f"batch {marker.batch_id} of Spark query {marker.query_id}"
    return (
        f"{batch if marker.batch_id != NO_BATCH else 'no batch yet'} "
        f"up to ({offsets_text(marker.offsets)}), generation {marker.generation}, "
        f"owner {marker.owner or 'nobody'}"
    )


def _action(marker: Marker, batch: SourceBatch) -> Action | None:
    if marker.batch_id == NO_BATCH and batch.batch_id != 0:
        return None  # a batch of an earlier generation; a new generation begins with batch 0
    if marker.query_id not in (None, batch.query_id):
        return None
    if marker.batch_id == batch.batch_id and same_offsets(batch.end, marker.offsets):
        return Action.SKIP
    return Action.PUBLISH if same_offsets(batch.start, marker.offsets) else None


def _check_first(checkpoint: CheckpointPosition, records_exist: bool) -> None:
    if checkpoint.initial is not None or checkpoint.last is not None:
        raise _mismatch("has been used, but Kafka has no marker for it", None, checkpoint)
    if records_exist:
        raise _mismatch("cannot start: outputs exist, and no marker says how far", None, checkpoint)


def _check_after_genesis(
    marker: Marker, checkpoint: CheckpointPosition, records_exist: bool, seeded: int | None
) -> None:
    last = checkpoint.last
    if records_exist and marker.generation == FIRST_GENERATION:
        raise _mismatch("cannot start: outputs exist that no marker covers", marker, checkpoint)
    if last is not None and (last.batch_id != 0 or checkpoint.committed):
        raise _mismatch("is of an earlier generation", marker, checkpoint)
    if checkpoint.initial is not None and not same_offsets(checkpoint.initial, marker.offsets):
        raise _behind(marker, checkpoint)
    if marker.generation not in (FIRST_GENERATION, seeded):
        raise _mismatch(
            f"lacks the recovered state of generation {marker.generation}", marker, checkpoint
        )


def _check_shards(marker: Marker, checkpoint: CheckpointPosition, shards: int | None) -> None:
    for found, whose in ((checkpoint.shards, "has"), (shards, "is asked to have")):
        if found not in (None, marker.shards):
            raise CheckpointMismatchError(
                f"the checkpoint ({checkpoint}) {whose} {found} shards, the marker "
                f"({described(marker)}) {marker.shards}: with another number aggregates would "
                f"restart at version 0; use {marker.shards}, or run `verdict recover --shards N`"
            )


def _behind(marker: Marker, checkpoint: CheckpointPosition) -> CheckpointMismatchError:
    return _mismatch("does not meet the marker", marker, checkpoint)


def _mismatch(
    what: str, marker: Marker | None, checkpoint: CheckpointPosition
) -> CheckpointMismatchError:
    return CheckpointMismatchError(
        f"the checkpoint {what}: the checkpoint is at ({checkpoint}), Kafka at "
        f"({described(marker)}); {REMEDY}"
    )
