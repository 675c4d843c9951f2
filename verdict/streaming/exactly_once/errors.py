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
    """The state that a batch was decided with is not the one that the progress record speaks of."""


class NotPublishedError(VerdictError):
    """Kafka did not confirm a transaction, nor its repetition; the progress record tells."""


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


def gone_back(query: "Query", progress: "ProgressRecord", earlier: "ProgressRecord") -> FencedError:
    """Return the error for a newer progress record with an earlier position than `earlier`."""
    return FencedError(
        f"an old progress record came to {query.progress_topic}: {query.transactional_id} at batch "
        f"{progress.batch_id} of generation {progress.generation}, by owner {progress.owner}, "
        f"after batch {earlier.batch_id} of generation {earlier.generation}. No new owner writes "
        "that, as positions never go back; this process stops, and published nothing since: see "
        "who may write there, then run `verdict recover`"
    )
