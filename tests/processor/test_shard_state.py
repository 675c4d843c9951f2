"""The log-structured state against a dictionary, through everything that happens to a cache."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.processor.fake_state import FakeStateStore
from tests.tiers import examples
from verdict.streaming.exactly_once.state_moves import Stamp
from verdict.write_side.state import lmdb_cache, log_head, log_structured
from verdict.write_side.state.log_head import LogHead
from verdict.write_side.state.log_structured import (
    DamagedStateError,
    LogStructuredState,
    StoredState,
)
from verdict.write_side.state.shard_state import FOR_EVER, StateEntry

KEYS = st.integers(0, 60).map(lambda number: f"key-{number}".encode())
VALUES = st.binary(max_size=40)
LIFETIMES = st.one_of(st.just(FOR_EVER), st.integers(1, 500))

StoredEntry = tuple[StateEntry, int]  # and when it was written


@pytest.fixture(autouse=True, scope="module")
def _small_pages() -> Iterator[None]:
    """Let a few kilobytes do what megabytes do in production: split pages and cut the log."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_head, "PAGE_BYTES", 300)
        patch.setattr(log_structured, "CREDIT_PER_BATCH", 100)
        yield


class ShardStateMachine(RuleBasedStateMachine):
    """Batches that commit or are taken back, on two hosts whose copies come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp())
        self.store, self.model, self.now = FakeStateStore(), dict[bytes, StoredEntry](), 1
        self.backup = (self.store.copy(), dict(self.model))

    def teardown(self) -> None:
        lmdb_cache._opened.cache_clear()
        shutil.rmtree(self.folder)

    @rule(
        host=st.sampled_from("ab"),
        asked=st.lists(KEYS, max_size=8),
        changed=st.dictionaries(KEYS, st.tuples(VALUES, LIFETIMES), max_size=12),
        passed=st.integers(0, 100),
        committed=st.sampled_from([True, True, True, False]),
    )
    def batch(self, host, asked, changed, passed, committed):  # type: ignore[no-untyped-def]
        before = self.store.copy()
        self.now += passed
        state = opened(self.store, self.folder / host)
        for key in [*asked, *changed]:
            self._check(key, state.get(key))
        entries = {key: StateEntry(*entry) for key, entry in changed.items()}
        state.commit(entries, self.now)
        if committed:
            self.model.update({key: (entry, self.now) for key, entry in entries.items()})
        else:
            self.store = before

    @rule(host=st.sampled_from("ab"))
    def lose_the_local_copy(self, host):  # type: ignore[no-untyped-def]
        lmdb_cache._opened.cache_clear()
        shutil.rmtree(self.folder / host, ignore_errors=True)

    @rule()
    def back_up(self) -> None:
        self.backup = (self.store.copy(), dict(self.model))

    @rule()
    def restore(self) -> None:
        """Go back in time; the local copies stay where they are, ahead or of another history."""
        self.store, self.model = self.backup[0].copy(), dict(self.backup[1])

    def _check(self, key: bytes, found: bytes | None) -> None:
        if key not in self.model:
            assert found is None
            return
        entry, since = self.model[key]
        if entry.keep_ms == FOR_EVER or since + entry.keep_ms >= self.now:
            assert found == entry.value
        else:
            assert found in (None, entry.value)


ShardStateMachine.TestCase.settings = settings(max_examples=examples(60))
test_every_copy_gives_the_same_answers = pytest.mark.proves("C-13")(ShardStateMachine.TestCase)


def opened(store: FakeStateStore, folder: Path) -> LogStructuredState:
    state = LogStructuredState(store, folder)
    state.open(0)
    return state


def _batches(store: FakeStateStore, folder: Path, count: int, lifetime: int = FOR_EVER) -> None:
    for number in range(count):
        changed = {f"key-{number % 50}".encode(): StateEntry(bytes(40), lifetime)}
        opened(store, folder).commit(changed, number)


@pytest.fixture
def store(tmp_path: Path) -> FakeStateStore:
    """The state after three batches, with a local copy in `one`."""
    found = FakeStateStore()
    _batches(found, tmp_path / "one", 3)
    return found


def test_the_log_stays_about_as_large_as_the_state(tmp_path: Path) -> None:
    store = FakeStateStore()

    _batches(store, tmp_path, 2000)

    head = StoredState(store).head()
    assert head.seq == 2000
    assert len(store.part("log")) < 120
    assert 4 <= head.level <= 6


@pytest.mark.proves("C-13")
def test_pages_stay_small_while_a_state_only_grows(tmp_path: Path) -> None:
    """A page is rewritten as a whole, so its size is what a batch may take and hold in memory."""
    store, largest = FakeStateStore(), 0

    for number in range(600):
        added = range(3 * number, 3 * number + 3)
        entries = {f"key-{key}".encode(): StateEntry(bytes(40)) for key in added}
        opened(store, tmp_path).commit(entries, number)
        largest = max([largest, *map(len, store.part("page").values())])

    assert largest < 4 * log_head.PAGE_BYTES


@pytest.mark.proves("C-13")
def test_what_has_expired_makes_the_state_smaller(tmp_path: Path) -> None:
    """C-13: ids that are remembered no more leave log, pages and local copy."""
    store, sizes = FakeStateStore(), {}

    for number in range(400):
        changed = {b"snapshot": StateEntry(bytes(40))}
        if number < 100:
            changed[f"id-{number}".encode()] = StateEntry(bytes(200), 150 - number)
        opened(store, tmp_path).commit(changed, number)
        rows = store.states["shard"].entries.values()
        sizes[number] = sum(len(value) for row in rows for value in row)

    assert min(sizes[99], sizes[150]) > 100 * 200
    assert sizes[399] < 100 * 200 / 4
    state = opened(store, tmp_path)
    assert [state.get(f"id-{one}".encode()) for one in range(100)] == [None] * 100


@pytest.mark.proves("G-04")
def test_a_leap_of_the_clock_counts_half_a_day_at_most_and_one_back_counts_nothing() -> None:
    head, clocks = LogHead(), []

    for now in (5_000, 5_000, 6_000, 10**12, 10**12 + 7, 0, 8_000, 9_000):
        head = LogHead.decode(head.at(now).encode())
        clocks.append(head.clock)

    leapt = 1_000 + log_head.LONGEST_STEP_MS
    assert clocks == [0, 0, 1_000, leapt, leapt + 7, leapt + 7, leapt + 7, leapt + 1_007]


def test_a_replay_ends_where_the_batch_did_in_any_copy(tmp_path: Path) -> None:
    """G-01: the digest does not depend on the order, or on the worker that computes it."""
    store, stamps = FakeStateStore(), set[tuple[Stamp, Stamp]]()
    _batches(store, tmp_path / "one", 30, lifetime=10)
    changed = {f"key-{number}".encode(): StateEntry(bytes(9), number) for number in range(40)}

    for order in (changed, dict(reversed(changed.items()))):
        state = opened(store.copy(), tmp_path / f"copy-{len(stamps)}")
        before = state.stamp()
        state.commit(order, now=77)
        stamps.add((before, state.stamp()))

    [(before, after)] = stamps
    assert (before[0], after[0]) == (30, 31)


def test_a_copy_that_goes_on_where_it_was_asks_spark_for_no_log(
    store: FakeStateStore, tmp_path: Path
) -> None:
    StoredState(store).drop(3)  # to ask for it would be an error

    assert opened(store, tmp_path / "one").get(b"key-2") == bytes(40)


def test_what_a_batch_left_next_to_a_copy_is_not_applied_when_the_batch_was_taken_back(
    store: FakeStateStore, tmp_path: Path
) -> None:
    committed = store.copy()
    for value, told in ((b"taken back", store), (b"committed", committed)):
        opened(told, tmp_path / value.decode()).commit({b"key-2": StateEntry(value)}, 4)
    assert [*(tmp_path / "taken back").rglob(lmdb_cache.APPENDED)]

    assert opened(committed, tmp_path / "taken back").get(b"key-2") == b"committed"


def test_a_copy_whose_folder_is_gone_goes_on(tmp_path: Path) -> None:
    store = FakeStateStore()
    state = opened(store, tmp_path / "one")
    shutil.rmtree(tmp_path / "one")

    state.commit({b"key": StateEntry(b"value")}, 1)

    assert opened(store, tmp_path / "another").get(b"key") == b"value"


def test_an_altered_or_missing_log_entry_is_named_and_never_served(
    store: FakeStateStore, tmp_path: Path
) -> None:
    stored = StoredState(store)
    previous, entry = cast(tuple[bytes, bytes], stored.entry(3))
    stored.append(3, previous, entry[:-1] + b"x")

    with pytest.raises(DamagedStateError, match="log entry 3 is not what was written"):
        opened(store, tmp_path / "another")
    stored.drop(3)
    with pytest.raises(DamagedStateError, match="log entry 3 of 3 is missing"):
        opened(store, tmp_path / "another")


def test_a_rebuild_that_was_interrupted_is_not_trusted(
    store: FakeStateStore, tmp_path: Path
) -> None:
    copy = lmdb_cache.LmdbCache(tmp_path / "another", 0)

    def failing() -> Iterator[bytes]:
        yield b""
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        copy.rebuild(failing(), (3, StoredState(store).head().digest))

    assert copy.begin() is None


@pytest.mark.parametrize("left", [b"", b"\xff" * 8192, b"no database"])
def test_a_copy_that_is_no_database_any_more_is_created_again(
    store: FakeStateStore, tmp_path: Path, left: bytes
) -> None:
    folder = tmp_path / "another" / lmdb_cache.boot_id() / "0"
    folder.mkdir(parents=True)
    (folder / "data.mdb").write_bytes(left)

    assert opened(store, tmp_path / "another").get(b"key-2") == bytes(40)
