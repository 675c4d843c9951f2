"""From where to where a batch moved the state of each shard, and whether that is the progress's.

Offsets tell that a batch continues what was published. They do not tell that the states do with
which it was decided: those are files of their own, which can be lost, restored or swapped.
"""

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from verdict.streaming.exactly_once.errors import ForeignStateError
from verdict.wire.progress_record import ProgressRecord, ShardState

if TYPE_CHECKING:
    import pyarrow as pa  # it takes a while to load, and the driver has it anyway

    from verdict.streaming.exactly_once.batch import SourceBatch

Stamp = tuple[int, bytes]
"""How many entries the log of a shard's state has, and the digest of all of them."""

NO_DIGEST = bytes(32)
EMPTY = ShardState(0, NO_DIGEST)  # of a shard that nothing was seeded or decided in
LAYOUT = Struct(">qq32sq32s")
SHOWN_DIGITS = 16
OR_MEMORY_CHANGED = (  # an outcome says in the state how long it is kept
    ", or deduplication_window_hours was changed since: then start once with the former one"
)


class StateMove(NamedTuple):
    """The state of a shard before a batch and after it; a shard without commands does not move."""

    shard: int
    before: ShardState
    after: ShardState


def packed_move(key: int, before: Stamp, after: Stamp) -> bytes:
    """Return the bytes, for `moves_of`, that say how a batch moved a shard; `key` is its group."""
    return LAYOUT.pack(key, *before, *after)


def moves_of(table: "pa.Table", keys: Sequence[int]) -> tuple[StateMove, ...]:
    """Return the moves in a table of `DECIDED_SCHEMA`; `keys` are the groups of the shards."""
    found = map(LAYOUT.unpack, table["moved"].drop_null().to_pylist())
    return tuple(
        StateMove(keys.index(key), ShardState(*before), ShardState(*after))
        for key, *stamps in found
        for before, after in [(stamps[:2], stamps[2:])]
    )


def check_states(progress: ProgressRecord, batch: "SourceBatch", *, is_replay: bool) -> None:
    """Raise ForeignStateError if `batch` was decided with other states than the progress record's.

    A batch that is to be published must begin where those end. The replay of one that is published
    must end there.
    """
    for shard, before, after in batch.moves:
        found, wanted = after if is_replay else before, progress.shard_states[shard]
        if wanted != found:
            what = "comes by the replay of this batch to" if is_replay else "is at"
            raise ForeignStateError(
                f"the state of shard {shard} {what} {_shown(found)}, and the progress record of "
                f"{progress.query} says {_shown(wanted)}: it was lost, is an older one or "
                f"another's{OR_MEMORY_CHANGED if is_replay else ''}; nothing of {batch} was "
                "published now: put the checkpoint's folder `state` back as it was, or run "
                "`verdict recover`"
            )


def states_after(progress: ProgressRecord, batch: "SourceBatch") -> list[ShardState]:
    """Return the state of every shard after `batch`; of a query without state none."""
    moved = {move.shard: move.after for move in batch.moves}
    return [moved.get(shard, known) for shard, known in enumerate(progress.shard_states)]


def _shown(state: ShardState) -> str:
    return f"entry {state.sequence} with the digest {state.digest.hex()[:SHOWN_DIGITS]}"
