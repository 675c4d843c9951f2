"""Checks that a checkpoint, and then each batch, continues where the progress record ends. Pure.

Offsets decide, ids do not: a batch id only tells a replay from a batch without input.
"""

from verdict.adapters.kafka.offsets import going_back, offsets_text, same_offsets
from verdict.streaming.exactly_once.batch import Outputs, SourceBatch, digest
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.errors import CheckpointMismatchError, ReplayDiffersError
from verdict.streaming.exactly_once.query import Query
from verdict.wire.progress_record import ProgressRecord

FIRST_GENERATION = 1
NO_BATCH = -1
BEHIND = "does not meet the progress record"
REMEDY = (
    "start on the data directory that goes on there (if its owner runs, nothing needs to be done), "
    "or, when it is lost, run `verdict recover`"
)


def check_resume(
    progress: ProgressRecord | None,
    checkpoint: CheckpointPosition,
    *,
    records_exist: bool,
    seeded: int | None = None,
) -> None:
    """Raise CheckpointMismatchError unless `checkpoint` continues where `progress` ends.

    Without both, this is the first start.
    """
    if progress is None:
        _check_first(checkpoint, records_exist)
        return
    if checkpoint.shards not in (None, progress.shards):
        raise CheckpointMismatchError(
            f"the checkpoint ({checkpoint}) has {checkpoint.shards} shards, the progress record "
            f"({described(progress)}) {progress.shards}: with another number aggregates would "
            "restart at version 0; run `verdict recover --shards N`"
        )
    if progress.batch_id == NO_BATCH:
        _check_after_genesis(progress, checkpoint, records_exist, seeded)
        return
    last = checkpoint.last
    if last is None or last.query_id != progress.query_id:
        what = "is not the one that the progress record was written with"
        raise _mismatch(what, progress, checkpoint)
    continues = (
        same_offsets(last.end, progress.offsets)
        if checkpoint.committed
        else _is_replay(progress, last) is not None
    )
    if not continues:
        raise _mismatch(BEHIND, progress, checkpoint)


def check_batch(progress: ProgressRecord, batch: SourceBatch) -> bool:
    """Return whether `batch` is a replay of the one that was published last.

    Raises CheckpointMismatchError if it neither is nor continues where the progress record ends.
    """
    is_replay = _is_replay(progress, batch)
    if is_replay is None:
        raise CheckpointMismatchError(
            f"{batch} does not continue where the progress record ends, which is at "
            f"{described(progress)}: nothing was published; {REMEDY}"
        )
    if not is_replay and (back := going_back(batch.start, batch.end)):
        raise CheckpointMismatchError(
            f"{batch} goes back in {', '.join(back)}: a topic was deleted, or is not read any "
            "more; nothing was published; bring it back, or run `verdict recover`"
        )
    return is_replay


def check_replay(
    progress: ProgressRecord, query: Query, batch: SourceBatch, outputs: Outputs
) -> None:
    """Raise ReplayDiffersError unless a batch that is published gave the same output again."""
    computed = digest(outputs)
    if computed != progress.digest:
        raise ReplayDiffersError(
            f"{batch} is published with the digest {progress.digest.hex()[:16]} by handler version "
            f"{progress.handler_version}, but its replay by {query.handler_version} gave "
            f"{computed.hex()[:16]}: start once with the version that published it, or run "
            "`verdict recover`"
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


def _is_replay(progress: ProgressRecord, batch: SourceBatch) -> bool | None:
    """Return None for a batch that neither is the last one again nor continues after it."""
    if progress.batch_id == NO_BATCH and batch.batch_id != 0:
        return None  # a batch of an earlier generation; a new generation begins with batch 0
    if progress.query_id not in (None, batch.query_id):
        return None
    if progress.batch_id == batch.batch_id and same_offsets(batch.end, progress.offsets):
        return True
    return False if same_offsets(batch.start, progress.offsets) else None


def _check_first(checkpoint: CheckpointPosition, records_exist: bool) -> None:
    if checkpoint.initial is not None or checkpoint.last is not None:
        raise _mismatch("has been used, but Kafka has no progress record for it", None, checkpoint)
    if records_exist:
        what = "cannot start: outputs exist, and no progress record says how far"
        raise _mismatch(what, None, checkpoint)


def _check_after_genesis(
    progress: ProgressRecord,
    checkpoint: CheckpointPosition,
    records_exist: bool,
    seeded: int | None,
) -> None:
    last = checkpoint.last
    if records_exist and progress.generation == FIRST_GENERATION:
        what = "cannot start: outputs exist that no progress record covers"
        raise _mismatch(what, progress, checkpoint)
    if last is not None and (last.batch_id != 0 or checkpoint.committed):
        raise _mismatch("is of an earlier generation", progress, checkpoint)
    if checkpoint.initial is not None and not same_offsets(checkpoint.initial, progress.offsets):
        raise _mismatch(BEHIND, progress, checkpoint)
    if progress.generation not in (FIRST_GENERATION, seeded):
        what = f"lacks the recovered state of generation {progress.generation}"
        raise _mismatch(what, progress, checkpoint)


def _mismatch(
    what: str, progress: ProgressRecord | None, checkpoint: CheckpointPosition
) -> CheckpointMismatchError:
    return CheckpointMismatchError(
        f"the checkpoint {what}: the checkpoint is at ({checkpoint}), Kafka at "
        f"({described(progress)}); {REMEDY}"
    )
