"""Why a query must stop rather than publish."""

from typing import TYPE_CHECKING

from verdict.errors import VerdictError

if TYPE_CHECKING:
    from verdict.streaming.exactly_once.query import Query
    from verdict.wire.marker import Marker


class CheckpointMismatchError(VerdictError):
    """A checkpoint or batch does not continue where the marker ends."""


class FencedError(VerdictError):
    """Another process owns the query now; this one must not go on."""


class ReplayDiffersError(VerdictError):
    """A batch that is already published was computed again, with another output."""


class ForeignStateError(CheckpointMismatchError):
    """The state that a batch was decided with is not the one that the marker speaks of."""


class NotPublishedError(VerdictError):
    """Kafka did not confirm a transaction, not when it was repeated either; the marker tells."""


class UnreadableProgressRecordError(VerdictError):
    """What lies in the place of a query's marker is none."""


def fenced(query: "Query", marker: "Marker") -> FencedError:
    """Return the error for a query that another process owns, as `marker` says."""
    if not marker.owner:
        return FencedError(
            f"{query.transactional_id} was fenced by `verdict recover`, which rebuilt its state as "
            f"generation {marker.generation}: this process stops, and published nothing since; "
            "start again on the data directory on which that ran"
        )
    return FencedError(
        f"{query.transactional_id} was fenced by owner {marker.owner}, now at batch "
        f"{marker.batch_id} of generation {marker.generation}: this process stops, and published "
        "nothing since; to decide here again, stop that one and start on its data directory, or, "
        "when that is lost, run `verdict recover`"
    )


def gone_back(query: "Query", marker: "Marker", earlier: "Marker") -> FencedError:
    """Return the error for a marker that is newer than `earlier` but behind it."""
    return FencedError(
        f"an old marker came to {query.markers}: {query.transactional_id} at batch "
        f"{marker.batch_id} of generation {marker.generation}, by owner {marker.owner}, after "
        f"batch {earlier.batch_id} of generation {earlier.generation}. No new owner writes that, "
        "as positions never go back; this process stops, and published nothing since: see who "
        "may write there, then run `verdict recover`"
    )
