"""What the state of one shard costs: bytes per aggregate, time per command, time to rebuild.

The store behind is files, and their time is taken off. So what is not in the numbers is Spark's own
share: a few state requests per batch and task, the copying of the log entry and of the folded pages
into the JVM, RocksDB, and the upload of its changelog. RocksDB compresses too; bytes are counted
before that. The local copy is written through the page cache as in production; where it does not
fit into memory, reads wait for the disk.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks.results import Result
from benchmarks.state_entries import NOW, Samples, fill, outcome_at, sampled, snapshot_at
from tests.processor.state_on_disk import Spent, StateOnDisk, now
from verdict.write_side.state.entries import KEPT, LISTED, kept, key_hash, pack
from verdict.write_side.state.lmdb_cache import LmdbCache, _opened
from verdict.write_side.state.log_structured import LogStructuredState, StoredState
from verdict.write_side.state.shard_state import StateEntry

COMMANDS = 10_000  # of a batch
WARMING = 3  # batches behind a rebuild, whose pages have no room yet
BATCHES = 9  # that are measured
ALONE = 50_000  # entries of one kind, to see what one takes on the local disk


def shard_state(folder: Path, sizes: Sequence[int]) -> Iterator[Result]:
    """Yield the bytes of each kind of entry, then for each size what rebuild and batches take."""
    samples = sampled()
    for kind, entry in samples._asdict().items():
        yield _bytes_of(kind, entry, folder)
    for size in sizes:
        yield _at_size(size, samples, folder / str(size))


def _bytes_of(kind: str, entry: StateEntry, folder: Path) -> Result:
    hashes = sorted(key_hash(str(number).encode()) for number in range(ALONE))
    page = pack((found, kept(*entry)) for found in hashes)
    LmdbCache(folder / kind, 0).rebuild([page], (1, bytes(32)))
    return {
        "what": "state",
        "entry": kind,
        "value_bytes": len(entry.value),
        "page_bytes": LISTED.size + KEPT.size + len(entry.value),
        "local_copy_bytes": round(_gone_with_its_bytes(folder / kind) / ALONE),
    }


def _at_size(size: int, samples: Samples, folder: Path) -> Result:
    store = StateOnDisk(folder / "store")
    fill(store, size, samples)
    result: Result = {"what": "state", "aggregates": size, "commands_per_batch": COMMANDS}
    result["state_bytes_per_aggregate"] = round(sum(store.bytes().values()) / size)
    state = LogStructuredState(store, folder / "local")
    rebuild = _spent(store, lambda: state.open(0))
    result |= {"rebuild_s": round(rebuild.passed, 3), "rebuild_cpu_s": round(rebuild.cpu, 3)}
    state.commit({}, NOW)  # ends its reading, which would pin the copy's old pages
    result["local_copy_bytes_per_aggregate"] = round(_bytes_under(folder / "local") / size)
    batches = [
        _batch(store, folder / "local", size, samples, nth) for nth in range(-WARMING, BATCHES)
    ]
    for step in ("open", "get", "commit"):
        for clock in Spent._fields:
            measured = [getattr(batch[step], clock) for batch in batches[WARMING:]]
            result[f"{step}_{clock}_us"] = round(median(measured) / COMMANDS * 1e6, 2)
    head = StoredState(store).head()
    result |= {"log_entries": head.seq - head.oldest + 1, "pages": len(head.written_pages())}
    result |= {f"{name}_bytes_after": size for name, size in store.bytes().items()}
    result["local_copy_bytes_after"] = _gone_with_its_bytes(folder / "local")
    shutil.rmtree(folder)
    return result


def _batch(
    store: StateOnDisk, local: Path, size: int, samples: Samples, nth: int
) -> dict[str, Spent]:
    """Return the seconds of each step of a batch that asks and changes what commands would."""
    random, took = Random(nth), {}
    orders = [random.randrange(size) for _ in range(COMMANDS)]
    snapshots = [snapshot_at(order) for order in orders]
    outcomes = [outcome_at(order, 2 + nth + WARMING) for order in orders]
    state = LogStructuredState(store, local)
    took["open"] = _spent(store, lambda: state.open(0))
    took["get"] = _spent(store, lambda: [*map(state.get, snapshots), *map(state.get, outcomes)])
    changed = dict.fromkeys(snapshots, samples.snapshot)
    changed |= dict.fromkeys(outcomes, samples.outcome)
    took["commit"] = _spent(store, lambda: state.commit(changed, NOW))
    return took


def _spent(store: StateOnDisk, step: Callable[[], Any]) -> Spent:
    """Return how long `step` takes without the store's own time."""
    inside, began = store.spent, now()
    step()
    return now() - began - (store.spent - inside)


def _bytes_under(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("data.mdb"))


def _gone_with_its_bytes(folder: Path) -> int:
    """Return the bytes of a local copy that are not needed any more."""
    found = _bytes_under(folder)
    _opened.cache_clear()
    shutil.rmtree(folder)
    return found
