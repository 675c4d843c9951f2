"""Checks that a checkpoint, and then each batch, continues where the progress record ends. Pure.

Offsets decide, ids do not: a batch id only tells a replay from a batch without input.
"""

from enum import StrEnum, auto

from verdict.adapters.kafka.offsets import going_back, offsets_text, same_offsets
from verdict.streaming.exactly_once.batch import Outputs, SourceBatch, digest
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.errors import CheckpointMismatchError, ReplayDiffersError
from verdict.streaming.exactly_once.query import Query
from verdict.wire.progress_record import ProgressRecord

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
    progress: ProgressRecord | None,
    checkpoint: CheckpointPosition,
    *,
    records_exist: bool,
    shards: int | None = None,
    seeded: int | None = None,
) -> None:
    """Return if `checkpoint` continues where `progress` ends.

    Without both, this is the first start. If a batch is planned and published already, it is
    computed for the state only; if it is planned and not published, it is published.

    Raises:
        CheckpointMismatchError: It does not; the message names both positions and what to do.
    """
    if progress is None:
        _check_first(checkpoint, records_exist)
        return
    _check_shards(progress, checkpoint, shards)
    if progress.batch_id == NO_BATCH:
        _check_after_genesis(progress, checkpoint, records_exist, seeded)
        return
    last = checkpoint.last
    if last is None or last.query_id != progress.query_id:
        raise _mismatch(
            "is not the one that the progress record was written with", progress, checkpoint
        )
    continues = (
        same_offsets(last.end, progress.offsets)
        if checkpoint.committed
        else _action(progress, last)
    )
    if not continues:
        raise _behind(progress, checkpoint)


def check_batch(progress: ProgressRecord, batch: SourceBatch) -> Action:
    """Return what to do with the output of `batch`, given the owner's progress record.

    SKIP is only right if `check_replay` returns.

    Raises:
        CheckpointMismatchError: The batch does not continue where the progress record ends; both
            positions are named.
    """
    action = _action(progress, batch)
    if action is None:
        raise CheckpointMismatchError(
            f"{batch} does not continue where the progress record ends, which is at "
            f"{described(progress)}: "
            f"nothing was published; {REMEDY}"
        )
    if action is Action.PUBLISH and (back := going_back(batch.start, batch.end)):
        raise CheckpointMismatchError(
            f"{batch} goes back in {', '.join(back)}: a topic was deleted, or is not read any "
            "more; nothing was published; bring it back, or run `verdict recover`"
        )
    return action


def check_replay(
    progress: ProgressRecord, query: Query, batch: SourceBatch, outputs: Outputs
) -> None:
    """Return if a batch that is published already gave the same output again.

    Raises:
        ReplayDiffersError: It did not; the handler versions of both are named.
    """
    computed = digest(outputs)
    if computed == progress.digest:
        return
    raise ReplayDiffersError(
        f"{batch} is published with the digest {progress.digest.hex()[:16]} by "
        f"handler version {progress.handler_version}, but its replay by "
        f"{query.handler_version} gave {computed.hex()[:16]}: start once with the "
        "version that published it, or run `verdict recover`"
    )


def described(progress: ProgressRecord | None) -> str:
    """Return the progress record's position for people."""
    if progress is None:
        return "no progress record"
    batch = f"batch {progress.batch_id} of Spark query {progress.query_id}"
    return (
        f"{batch if progress.batch_id != NO_BATCH else 'no batch yet'} "
        f"up to ({offsets_text(progress.offsets)}), generation {progress.generation}, "
        f"owner {progress.owner or 'none'}"
    )


def _action(progress: ProgressRecord, batch: SourceBatch) -> Action | None:
    if progress.batch_id == NO_BATCH and batch.batch_id != 0:
        return None  # a batch of an earlier generation; a new generation begins with batch 0
    if progress.query_id not in (None, batch.query_id):
        return None
    if progress.batch_id == batch.batch_id and same_offsets(batch.end, progress.offsets):
        return Action.SKIP
    return Action.PUBLISH if same_offsets(batch.start, progress.offsets) else None


def _check_first(checkpoint: CheckpointPosition, records_exist: bool) -> None:
    if checkpoint.initial is not None or checkpoint.last is not None:
        raise _mismatch("has been used, but Kafka has no progress record for it", None, checkpoint)
    if records_exist:
        raise _mismatch(
            "cannot start: outputs exist, and no progress record says how far", None, checkpoint
        )


def _check_after_genesis(
    progress: ProgressRecord,
    checkpoint: CheckpointPosition,
    records_exist: bool,
    seeded: int | None,
) -> None:
    last = checkpoint.last
    if records_exist and progress.generation == FIRST_GENERATION:
        raise _mismatch(
            "cannot start: outputs exist that no progress record covers", progress, checkpoint
        )
    if last is not None and (last.batch_id != 0 or checkpoint.committed):
        raise _mismatch("is of an earlier generation", progress, checkpoint)
    if checkpoint.initial is not None and not same_offsets(checkpoint.initial, progress.offsets):
        raise _behind(progress, checkpoint)
    if progress.generation not in (FIRST_GENERATION, seeded):
        raise _mismatch(
            f"lacks the recovered state of generation {progress.generation}", progress, checkpoint
        )


def _check_shards(
    progress: ProgressRecord, checkpoint: CheckpointPosition, shards: int | None
) -> None:
    for found, whose in ((checkpoint.shards, "has"), (shards, "is asked to have")):
        if found not in (None, progress.shards):
            raise CheckpointMismatchError(
                f"the checkpoint ({checkpoint}) {whose} {found} shards, the progress record "
                f"({described(progress)}) {progress.shards}: with another number aggregates would "
                f"restart at version 0; use {progress.shards}, or run `verdict recover --shards N`"
            )


def _behind(progress: ProgressRecord, checkpoint: CheckpointPosition) -> CheckpointMismatchError:
    return _mismatch("does not meet the progress record", progress, checkpoint)


def _mismatch(
    what: str, progress: ProgressRecord | None, checkpoint: CheckpointPosition
) -> CheckpointMismatchError:
    return CheckpointMismatchError(
        f"the checkpoint {what}: the checkpoint is at ({checkpoint}), Kafka at "
        f"({described(progress)}); {REMEDY}"
    )
