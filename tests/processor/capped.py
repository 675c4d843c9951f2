"""A process whose memory is capped, with a state that is several times as large.

Run as `python -m tests.processor.capped FOLDER MIB TIMES`, MIB being what it may have beyond the
interpreter and its modules; prints what it found as JSON.
"""

import json
import re
import resource
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.processor.state_on_disk import StateOnDisk
from verdict.write_side.state import lmdb_cache
from verdict.write_side.state.log_structured import LogStructuredState
from verdict.write_side.state.shard_state import StateEntry, outcome_key, snapshot_key

SNAPSHOT_BYTES, OUTCOME_BYTES = 57, 500  # an accepted outcome has 260, a rejection says more
COMMANDS = 500  # of a batch
ASKED = 2000  # of either kind, in the end
STATUS = Path("/proc/self/status")
DAY_MS = 24 * 60 * 60 * 1000


def cap(size: int) -> None:
    """Let this process have `size` bytes of anonymous memory, not a page more.

    It is RLIMIT_DATA, as RLIMIT_AS would count the file that LMDB maps.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size, hard))


def grow(folder: Path, wanted: int) -> int:
    """Give new aggregates snapshot and outcome until these have `wanted` bytes; count them."""
    store, number = StateOnDisk(folder / "store"), 0
    while number * (SNAPSHOT_BYTES + OUTCOME_BYTES) <= wanted:
        state = LogStructuredState(store, folder / "local")
        state.open(0)
        added = {k: entry for at in range(number, number + COMMANDS) for k, entry in entries(at)}
        state.commit(added, 1)
        number += COMMANDS
    return number


def entries(number: int) -> Iterator[tuple[bytes, StateEntry]]:
    """Yield snapshot and outcome of an aggregate."""
    name, text = f"order-{number}", number.to_bytes(8, "big") * 64
    yield snapshot_key("order", name), StateEntry(text[:SNAPSHOT_BYTES])
    outcome = StateEntry(text[:OUTCOME_BYTES], DAY_MS)
    yield outcome_key("order", name, f"command-{number}"), outcome


def right(folder: Path, aggregates: int) -> int:
    """Return how many entries are found as they were written."""
    state, random = LogStructuredState(StateOnDisk(folder / "store"), folder / "local"), Random(1)
    state.open(0)
    asked = [random.randrange(aggregates) for _ in range(ASKED)]
    found = sum(state.get(key) == entry.value for at in asked for key, entry in entries(at))
    state.commit({}, 1)
    return found


def bites(size: int) -> bool:
    """Return whether `size` bytes are more than this process may have."""
    try:
        bytearray(size)
    except MemoryError:
        return True
    return False


def anonymous_bytes() -> int:
    """Return what RLIMIT_DATA counts of this process now."""
    [kib] = re.findall(r"^VmData:\s+(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    return int(kib) * 1024


def main(folder: Path, beyond: int, times: int) -> None:
    """Let a state grow, ask it, lose its local copy, and ask again."""
    cap_bytes = anonymous_bytes() + beyond
    cap(cap_bytes)
    found: dict[str, object] = {"cap_bytes": cap_bytes, "capped": bites(2 * beyond)}
    found["aggregates"] = aggregates = grow(folder, times * cap_bytes)
    found["right"] = right(folder, aggregates)
    lmdb_cache._opened.cache_clear()
    shutil.rmtree(folder / "local")
    found["right_after_rebuild"] = right(folder, aggregates)
    found["state_bytes"] = sum(StateOnDisk(folder / "store").bytes().values())
    copies = (folder / "local").rglob("data.mdb")
    found["local_copy_bytes"] = sum(file.stat().st_blocks * 512 for file in copies)
    print(json.dumps(found))  # noqa: T201  (for the test)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) * 2**20, int(sys.argv[3]))
