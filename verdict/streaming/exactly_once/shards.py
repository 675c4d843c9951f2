"""Whether the states behind a batch are those that the progress record speaks of. Pure.

Offsets tell that a batch continues what was published, not that the states do which it was decided
with: these are files of their own, that can be lost, restored, or taken for another's.
"""

from collections.abc import Iterable, Sequence

from verdict.streaming.exactly_once.batch import SourceBatch, StateMove
from verdict.streaming.exactly_once.errors import ForeignStateError
from verdict.streaming.exactly_once.resume import Action
from verdict.streaming.exactly_once.state_moves import StateTransition
from verdict.wire.progress_record import ProgressRecord, ShardState
from verdict.write_side.state.log_head import NO_DIGEST

EMPTY = ShardState(0, NO_DIGEST)  # of a shard that nothing was seeded or decided in
UNKNOWN = ShardState(
    -1, b""
)  # of a shard without commands since an older progress record has a place for it
SHOWN_BYTES = 8
OR_MEMORY_CHANGED = (  # an outcome says in the state how long it is kept
    ", or deduplication_window_hours was changed since: then start once with the former one"
)


def transitions_of(told: Iterable[StateTransition], keys: Sequence[int]) -> tuple[StateMove, ...]:
    """Return what the operator told, by the shards' numbers; `keys` has theirs in order."""
    return tuple(
        StateMove(keys.index(key), ShardState(*before), ShardState(*after))
        for key, before, after in told
    )


def check_states(progress: ProgressRecord, batch: SourceBatch, action: Action) -> None:
    """Return if the states behind `batch` are the progress record's, or it knows none yet.

    A batch that is to be published must begin where the progress record's states end, the replay
    of one that is published must end there.

    Raises:
        ForeignStateError: One does not; the shard and both of its states are named.
    """
    for shard, before, after in batch.moves:
        found, wanted = after if action is Action.SKIP else before, _known(progress, shard)
        if wanted not in (UNKNOWN, found):
            replay = action is Action.SKIP
            what = "comes by the replay of this batch to" if replay else "is at"
            raise ForeignStateError(
                f"the state of shard {shard} {what} {_shown(found)}, and the progress record of "
                f"{progress.query} says {_shown(wanted)}: it was lost, is an older one or "
                f"another's{OR_MEMORY_CHANGED if replay else ''}; nothing of {batch} was "
                "published now: put the checkpoint's folder `state` back as it was, or run "
                "`verdict recover`"
            )


def states_after(progress: ProgressRecord, batch: SourceBatch) -> list[ShardState]:
    """Return the state of every shard after `batch`; of a query without state none."""
    if not batch.moves:
        return progress.shard_states
    moved = {move.shard: move.after for move in batch.moves}
    return [moved.get(shard, _known(progress, shard)) for shard in range(progress.shards)]


def _known(progress: ProgressRecord, shard: int) -> ShardState:
    return progress.shard_states[shard] if progress.shard_states else UNKNOWN


def _shown(state: ShardState) -> str:
    return f"entry {state.sequence} with the digest {state.digest.hex()[: 2 * SHOWN_BYTES]}"
