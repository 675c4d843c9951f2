"""Whether a checkpoint, and then each batch, continues where the marker ends. Pure.

Offsets decide, ids do not: a batch id only tells a replay from a batch without input.
"""

from enum import StrEnum, auto

from verdict.exactly_once.batch import Batch
from verdict.exactly_once.checkpoint import CheckpointPosition
from verdict.exactly_once.errors import Misfit
from verdict.kafka.offsets import going_back, same, shown
from verdict.wire.marker import Marker

FIRST_GENERATION = 1
NO_BATCH = -1
REMEDY = (
    "start on the data directory that goes on there (if its owner runs, nothing needs to be done), "
    "or, when it is lost, run `verdict recover`"
)


class Start(StrEnum):
    """How a query that may start goes on."""

    GENESIS = auto()  # the very first time: a marker has to be written
    PUBLISH = auto()  # the next batch, or a planned one that was never published
    SKIP = auto()  # the planned batch is published: compute it for the state only


class Action(StrEnum):
    """What is to be done with the output of a batch."""

    PUBLISH = auto()
    SKIP = auto()


def fit(
    marker: Marker | None,
    checkpoint: CheckpointPosition,
    *,
    records_exist: bool,
    shards: int | None = None,
    seeded: int | None = None,
) -> Start:
    """Return how to start, if `checkpoint` continues where `marker` ends.

    Args:
        marker: The query's committed marker; None when there is none.
        checkpoint: How far Spark's own books go.
        records_exist: Whether any output topic holds a committed record.
        shards: How many shards were asked for; None when any number will do.
        seeded: The generation whose recovered state a fresh checkpoint is given.

    Raises:
        Misfit: It does not; the message names both positions and what to do.
    """
    if marker is None:
        return _first(checkpoint, records_exist)
    _same_shards(marker, checkpoint, shards)
    if marker.batch_id == NO_BATCH:
        return _after_genesis(marker, checkpoint, records_exist, seeded)
    last = checkpoint.last
    if last is None or last.query_id != marker.query_id:
        raise _misfit("is not the one that the marker was written with", marker, checkpoint)
    if not checkpoint.committed:
        return Start(_judged(marker, last) or _behind(marker, checkpoint))
    if same(last.end, marker.offsets):
        return Start.PUBLISH
    return _behind(marker, checkpoint)


def judge(marker: Marker, batch: Batch) -> Action:
    """Return what to do with the output of `batch`, given the owner's marker.

    SKIP is only right if the digest of the output is the marker's.

    Raises:
        Misfit: The batch does not continue where the marker ends; both positions are named.
    """
    action = _judged(marker, batch)
    if action is None:
        raise Misfit(
            f"{batch} does not continue where the marker ends, which is at {described(marker)}: "
            f"nothing was published; {REMEDY}"
        )
    if action is Action.PUBLISH and (back := going_back(batch.start, batch.end)):
        raise Misfit(
            f"{batch} goes back in {', '.join(back)}: a topic was deleted, or is not read any "
            "more; nothing was published; bring it back, or run `verdict recover`"
        )
    return action


def described(marker: Marker | None) -> str:
    """Return the marker's position for people."""
    if marker is None:
        return "no marker"
    batch = f"batch {marker.batch_id} of Spark query {marker.query_id}"
    return (
        f"{batch if marker.batch_id != NO_BATCH else 'no batch yet'} "
        f"up to ({shown(marker.offsets)}), generation {marker.generation}, "
        f"owner {marker.owner or 'nobody'}"
    )


def _judged(marker: Marker, batch: Batch) -> Action | None:
    if marker.batch_id == NO_BATCH and batch.batch_id != 0:
        return None  # a batch of an older life; a new generation begins with batch 0
    if marker.query_id not in (None, batch.query_id):
        return None
    if marker.batch_id == batch.batch_id and same(batch.end, marker.offsets):
        return Action.SKIP
    return Action.PUBLISH if same(batch.start, marker.offsets) else None


def _first(checkpoint: CheckpointPosition, records_exist: bool) -> Start:
    if checkpoint.initial is not None or checkpoint.last is not None:
        raise _misfit("has been used, but Kafka has no marker for it", None, checkpoint)
    if records_exist:
        raise _misfit("cannot start: outputs exist, and no marker says how far", None, checkpoint)
    return Start.GENESIS


def _after_genesis(
    marker: Marker, checkpoint: CheckpointPosition, records_exist: bool, seeded: int | None
) -> Start:
    last = checkpoint.last
    if records_exist and marker.generation == FIRST_GENERATION:
        raise _misfit("cannot start: outputs exist that no marker covers", marker, checkpoint)
    if last is not None and (last.batch_id != 0 or checkpoint.committed):
        raise _misfit("is of an older life of the query", marker, checkpoint)
    if checkpoint.initial is not None and not same(checkpoint.initial, marker.offsets):
        return _behind(marker, checkpoint)
    if marker.generation not in (FIRST_GENERATION, seeded):
        raise _misfit(
            f"lacks the recovered state of generation {marker.generation}", marker, checkpoint
        )
    return Start.PUBLISH


def _same_shards(marker: Marker, checkpoint: CheckpointPosition, shards: int | None) -> None:
    for found, whose in ((checkpoint.shards, "has"), (shards, "is asked to have")):
        if found not in (None, marker.shards):
            raise Misfit(
                f"the checkpoint ({checkpoint}) {whose} {found} shards, the marker "
                f"({described(marker)}) {marker.shards}: with another number aggregates would "
                f"restart at version 0; use {marker.shards}, or run `verdict recover --shards N`"
            )


def _behind(marker: Marker, checkpoint: CheckpointPosition) -> Start:
    raise _misfit("does not meet the marker", marker, checkpoint)


def _misfit(what: str, marker: Marker | None, checkpoint: CheckpointPosition) -> Misfit:
    return Misfit(
        f"the checkpoint {what}: the checkpoint is at ({checkpoint}), Kafka at "
        f"({described(marker)}); {REMEDY}"
    )
