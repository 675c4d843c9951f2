"""Files on a disk and in an object store: whole when they are seen, and used in one way."""

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.application import APPLICATION
from tests.storage.server import BUCKET, object_store
from verdict.adapters.storage.folders import flush, in_store, located, remove, write_whole
from verdict.streaming.exactly_once.checkpoint import FRESH, checkpoint_position, remove_torn_files
from verdict.streaming.exactly_once.outputs import Handover, Outputs
from verdict.write_side.decider_query.generation import DamagedSeedError, Generation


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = dict(os.environ)
    with object_store(tmp_path_factory.mktemp("store") / "data") as running:
        os.environ.update(running.environment)
        yield
    for name in running.environment:
        os.environ.pop(name)
    os.environ.update(before)


@pytest.fixture(params=["disk", pytest.param("store", marks=pytest.mark.process)])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a folder that is not there yet."""
    if request.param == "disk":
        return tmp_path / "folder"
    request.getfixturevalue("store")
    return located(f"s3a://{BUCKET}/{request.node.name.partition('[')[0]}")


def test_a_file_is_written_read_found_and_removed(folder: Path) -> None:
    assert not folder.exists()
    assert [*folder.glob("*")] == []
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "a", "first")
    write_whole(folder / "a", "second")
    (folder / "b" / "deeper").mkdir(parents=True, exist_ok=True)
    (folder / "b" / "deeper" / "c").write_bytes(b"\x00")
    flush([folder / "a", folder])

    assert (folder / "a").read_text() == "second"
    assert (folder / "b" / "deeper" / "c").stat().st_size == 1
    assert sorted(one.name for one in folder.glob("*")) == ["a", "b"]
    assert [one.name for one in folder.glob("*/*/*")] == ["c"]
    assert located(str(folder / "a")).read_text() == "second"
    again = pickle.loads(pickle.dumps(folder))
    assert again == folder
    assert (again / "a").read_text() == "second"

    (folder / "a").unlink()
    (folder / "a").unlink(missing_ok=True)
    assert sorted(one.name for one in folder.glob("*")) == ["b"]
    remove(folder)
    remove(folder)
    assert [one for one in folder.rglob("*") if one.is_file()] == []  # a store has no folders


def test_outputs_are_handed_over_and_those_of_owners_before_removed(folder: Path) -> None:
    former = Outputs(folder)
    former.folder.mkdir(parents=True, exist_ok=True)
    (former.folder / "left.chunk").write_bytes(b"left")

    outputs = Outputs(folder)
    outputs.folder.mkdir(parents=True, exist_ok=True)
    [path] = Handover(outputs.folder, by_spark=0).frame(b"a chunk")["file"]
    assert located(path).read_bytes() == b"a chunk"
    outputs.clear()

    assert [*folder.glob("*/*")] == []


def test_a_seed_counts_once_all_of_it_is_there_and_what_is_altered_is_found(folder: Path) -> None:
    generation = Generation(folder, 2)
    generation.clear()
    part = generation.seed / "shard=7" / "part-0.parquet"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(b"entries")
    assert not generation.seeded
    assert generation.seeds(FRESH) == []

    generation.complete(APPLICATION)
    assert generation.seeds(FRESH) == [(7, str(part))]
    assert generation.outdated(APPLICATION) == []
    part.write_bytes(b"others!")
    with pytest.raises(DamagedSeedError, match="is not what was written"):
        generation.seeds(FRESH)
    Generation(folder, 3).tidy(FRESH, Generation(folder, 3).others())
    assert not generation.seeded


def test_a_checkpoint_is_read_wherever_it_lies(folder: Path) -> None:
    offsets = '{"order.commands":{"0":5}}'
    planned = '{"batchTimestampMs":1,"conf":{"spark.sql.shuffle.partitions":"2"}}'
    files = {
        "metadata": '{"id":"q"}',
        "sources/0/0": f"\0v1\n{offsets}",
        "offsets/0": f"v1\n{planned}\n{offsets}",
    }
    assert checkpoint_position(folder) == FRESH
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    remove_torn_files(folder)

    found = checkpoint_position(folder)

    assert found.query_id == "q"
    assert found.shards == 2
    assert found.last is not None
    assert (found.last.end, found.committed) == ({"order.commands": [5]}, False)
    assert in_store(folder) == (not isinstance(folder, Path))
