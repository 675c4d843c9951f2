"""The reasons why a query stops instead of publishing."""

from typing import TYPE_CHECKING

from verdict.errors import VerdictError

if TYPE_CHECKING:
    from verdict.streaming.exactly_once.query import Query
    from verdict.wire.progress_record import ProgressRecord


class CheckpointMismatchError(VerdictError):
    """A checkpoint or batch does not continue where the progress record ends."""


class FencedError(VerdictError):
    """Another process owns the query now; this one must not go on."""


class ReplayDiffersError(VerdictError):
    """A batch that is already published was computed again, with another output."""


class ForeignStateError(CheckpointMismatchError):
    """A batch was decided with another state than the progress record names."""


class NotPublishedError(VerdictError):
    """Kafka confirmed neither a transaction nor its repetition."""


class UnreadableProgressRecordError(VerdictError):
    """A query's progress record was replaced by something else."""


def fenced(query: "Query", progress: "ProgressRecord") -> FencedError:
    """Return the error for a query that another process owns, as `progress` says."""
    if not progress.owner:
        return FencedError(
            f"{query.transactional_id} was fenced by `verdict recover`, which rebuilt its state as "
            f"generation {progress.generation}: this process stops, and published nothing since; "
            "start again on the data directory on which that ran"
        )
    return FencedError(
        f"{query.transactional_id} was fenced by owner {progress.owner}, now at batch "
        f"{progress.batch_id} of generation {progress.generation}: this process stops, and "
        "published nothing since; to decide here again, stop that one and start on its data "
        "directory, or, when that is lost, run `verdict recover`"
    )
