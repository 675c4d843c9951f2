"""What the operator tells of each shard's state: from where to where a batch moved it."""

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from verdict.write_side.state.shard_state import Stamp

if TYPE_CHECKING:  # it takes a while to load, and the driver has it anyway
    import pyarrow as pa

LAYOUT = Struct(">qq32sq32s")


class StateTransition(NamedTuple):
    """One shard in one batch: how many log entries its state had before and after, and of what.

    A shard without commands is not asked, and stays where it is. `key` is its grouping key.
    """

    key: int
    before: Stamp
    after: Stamp


def packed(moved: StateTransition) -> bytes:
    """Return the bytes of it, for `moves_of`."""
    return LAYOUT.pack(moved.key, *moved.before, *moved.after)


def moves_of(table: "pa.Table") -> Iterator[StateTransition]:
    """Yield what a table of `DECIDED_SCHEMA` tells of shards, in no particular order."""
    for told in table["moved"].drop_null().to_pylist():
        key, *stamps = LAYOUT.unpack(told)
        yield StateTransition(key, (stamps[0], stamps[1]), (stamps[2], stamps[3]))
