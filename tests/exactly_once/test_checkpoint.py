import json
import resource
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.exactly_once.checkpoints import QUERY_ID, begin, commit, plan
from verdict.adapters.spark.errors import DamagedCheckpointError
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.checkpoint import (
    FRESH,
    CheckpointPosition,
    batch_of,
    checkpoint_position,
    plan_empty_batch,
    planned_ms,
    remove_torn_files,
    starting_offsets,
)

START = {"order.commands": [1, 0]}
MIDDLE = {"order.commands": [2, 2]}
END = {"order.commands": [4, 9], "position.commands": [0, 1]}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint with batch 0 done and batch 1 planned."""
    begin(tmp_path, START)
    plan(tmp_path, 0, MIDDLE)
    commit(tmp_path, 0)
    plan(tmp_path, 1, END)
    return tmp_path


def test_a_missing_directory_is_a_fresh_checkpoint(tmp_path: Path) -> None:
    assert checkpoint_position(tmp_path / "none") == FRESH


def test_files_that_a_kill_left_half_written_are_removed_and_no_others(checkpoint: Path) -> None:
    before = {file: file.read_bytes() for file in checkpoint.rglob("*") if file.is_file()}
    for folder in ("offsets", "commits"):
        (checkpoint / folder / ".7.0f1c2a.tmp").write_text("v1")

    remove_torn_files(checkpoint)

    assert {f: f.read_bytes() for f in checkpoint.rglob("*") if f.is_file()} == before
    remove_torn_files(checkpoint / "missing")


def test_before_the_first_batch_only_the_start_is_known(tmp_path: Path) -> None:
    begin(tmp_path, START)

    assert checkpoint_position(tmp_path) == CheckpointPosition(query_id=QUERY_ID, initial=START)


def test_the_batch_planned_last_runs_from_the_end_of_the_one_before(checkpoint: Path) -> None:
    batch = SourceBatch(query_id=QUERY_ID, batch_id=1, start=MIDDLE, end=END)

    assert batch_of(checkpoint, 0).start == START
    assert batch_of(checkpoint, 1) == batch
    planned = CheckpointPosition(
        query_id=QUERY_ID, initial=START, shards=3, last=batch, committed=False
    )
    assert checkpoint_position(checkpoint) == planned
    commit(checkpoint, 1)
    assert checkpoint_position(checkpoint) == replace(planned, committed=True)


def test_batches_are_ordered_as_numbers(tmp_path: Path) -> None:
    begin(tmp_path, START)
    for batch_id in (8, 9, 10):
        plan(tmp_path, batch_id, {"order.commands": [batch_id, batch_id]})
        commit(tmp_path, batch_id)

    last = checkpoint_position(tmp_path).last

    assert last is not None
    assert (last.batch_id, last.start) == (10, {"order.commands": [9, 9]})


def test_an_empty_batch_is_planned_after_the_last_one_unless_spark_repeats_that(
    checkpoint: Path,
) -> None:
    before = checkpoint_position(checkpoint)
    plan_empty_batch(checkpoint, before)
    assert checkpoint_position(checkpoint) == before, "it is not committed"

    commit(checkpoint, 1)
    plan_empty_batch(checkpoint, checkpoint_position(checkpoint))

    planned = checkpoint_position(checkpoint)
    assert before.last is not None
    assert planned.last == replace(before.last, batch_id=2, start=before.last.end)
    assert not planned.committed
    assert planned_ms(checkpoint, 2) == planned_ms(checkpoint, 1)
    plan_empty_batch(checkpoint / "fresh", FRESH)
    assert checkpoint_position(checkpoint / "fresh") == FRESH


FILES = ("metadata", "sources/0/0", "offsets/0", "offsets/1", "commits/0")


@pytest.mark.proves("F-18")
@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_cut_off_or_missing_is_named_and_never_taken_for_a_fresh_start(
    checkpoint: Path, file: str
) -> None:
    whole = (checkpoint / file).read_bytes()
    for length in range(len(whole)):
        (checkpoint / file).write_bytes(whole[:length])

        with pytest.raises(DamagedCheckpointError, match=f"{checkpoint / file}.*verdict recover"):
            checkpoint_position(checkpoint)
    (checkpoint / file).unlink()
    if file not in ("offsets/1", "commits/0"):  # the newest of a log may not be written yet
        with pytest.raises(DamagedCheckpointError, match=str(checkpoint / file)):
            checkpoint_position(checkpoint)


@pytest.mark.proves("F-13")
def test_a_process_that_may_open_no_more_files_finds_no_damage(checkpoint: Path) -> None:
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, allowed[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            checkpoint_position(checkpoint)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, allowed)


def test_logs_that_do_not_belong_together_are_refused(checkpoint: Path) -> None:
    plan(checkpoint, 2, END)

    with pytest.raises(
        DamagedCheckpointError, match="ends at batch 0, but the batch planned last is 2"
    ):
        checkpoint_position(checkpoint)
    for file in (checkpoint / "offsets").iterdir():
        file.unlink()
    with pytest.raises(DamagedCheckpointError, match="but the batch planned last is -1"):
        checkpoint_position(checkpoint)


@pytest.mark.parametrize(
    "offsets",
    [
        '{"order.commands":{"0":1,"2":1}}',
        '{"order.commands":{"0":-2}}',
        '{"order.commands":{"0":1.5}}',
        '{"order.commands":{"0":true}}',
        '{"order.commands":{}}',
        '{"order.commands":7}',
        '"earliest"',
        "-",
        '{"order.commands":{"0":1}}\n{"other.source":{"0":1}}',
    ],
)
def test_what_are_no_offsets_of_one_kafka_source_is_refused(checkpoint: Path, offsets: str) -> None:
    lines = (checkpoint / "offsets/1").read_text().splitlines()
    for head in (lines[:2], ["v2", lines[1]]):
        (checkpoint / "offsets/1").write_text("\n".join([*head, offsets]))

        with pytest.raises(DamagedCheckpointError, match="offsets/1"):
            batch_of(checkpoint, 1)


@given(noise=st.binary(max_size=200), file=st.sampled_from(FILES))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_refused_by_name(checkpoint: Path, noise: bytes, file: str) -> None:
    whole = (checkpoint / file).read_bytes()
    (checkpoint / file).write_bytes(noise)

    with pytest.raises(DamagedCheckpointError, match=file):
        checkpoint_position(checkpoint)
    (checkpoint / file).write_bytes(whole)


def test_spark_starts_in_every_partition_of_every_topic() -> None:
    told = starting_offsets(
        {"order.commands": [3, 5]}, {"order.commands": 2, "position.commands": 2}
    )

    assert json.loads(told) == {
        "order.commands": {"0": 3, "1": 5},
        "position.commands": {"0": 0, "1": 0},
    }
