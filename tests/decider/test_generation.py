"""G-01: the directory of a generation; a recovered state that is damaged is no beginning."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from aggregates.order import order
from tests.application import APPLICATION, CATALOG
from verdict.adapters.spark.errors import DamagedCheckpointError
from verdict.model.aggregate import Aggregate
from verdict.model.message import Message, Text
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.checkpoint import FRESH, CheckpointPosition
from verdict.wire.catalog import AggregateContext
from verdict.write_side.decide.snapshot import form_of
from verdict.write_side.decider_query import generation as module
from verdict.write_side.decider_query.generation import (
    DamagedSeedError,
    Generation,
    newest_generation,
)

ONE, OTHER = "shard=0/a.parquet", "shard=5/b.parquet"
SEEDS = [(0, ONE), (5, OTHER)]


@pytest.fixture
def recovered(tmp_path: Path) -> Generation:
    """The second generation, as a recovery leaves it, next to the first."""
    Generation(tmp_path, 1).checkpoint.mkdir(parents=True)
    generation = Generation(tmp_path, 2)
    generation.clear()
    for _, file in SEEDS:
        (generation.seed / file).parent.mkdir(parents=True)
        (generation.seed / file).write_text(file)
    generation.complete(APPLICATION)
    return generation


def at(batch_id: int, *, committed: bool) -> CheckpointPosition:
    batch = SourceBatch(query_id="q", batch_id=batch_id, start={}, end={})
    return CheckpointPosition(query_id="q", initial={}, last=batch, committed=committed)


@pytest.mark.parametrize(
    ("position", "is_kept"),
    [
        (FRESH, True),
        (at(0, committed=False), True),
        (at(0, committed=True), False),
        (at(1, committed=False), False),
    ],
)
def test_a_seed_is_kept_until_batch_0_is_committed(
    recovered: Generation, position: CheckpointPosition, is_kept: bool
) -> None:
    wanted = [(shard, str(recovered.seed / file)) for shard, file in SEEDS]
    assert recovered.seeds(position) == (wanted if is_kept else [])

    recovered.tidy(position, [])

    assert recovered.seeded == recovered.seed.exists() == is_kept


def test_a_generation_that_has_started_replaces_all_others(
    recovered: Generation, tmp_path: Path
) -> None:
    Generation(tmp_path, 3).clear()  # of a recovery that was interrupted
    assert newest_generation(tmp_path) == 3

    former = recovered.others()
    later = Generation(tmp_path, 4)  # of who takes over meanwhile
    later.clear()
    recovered.tidy(FRESH, former)

    assert {*(tmp_path / "decider").iterdir()} == {recovered.folder, later.folder}


def swap(seed: Path) -> None:
    (seed / ONE).write_text(OTHER)
    (seed / OTHER).write_text(ONE)


@pytest.mark.proves("C-17")
@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda seed: (seed / ONE).unlink(), f"{ONE} is missing"),
        (lambda seed: (seed / ONE).write_text(ONE[:9]), f"{ONE} is not what was written"),
        (swap, f"{ONE} is not what was written; {OTHER} is not what was written"),
        (
            lambda seed: (seed / ONE).rename(seed / "shard=5" / "a.parquet"),
            f"{ONE} is missing; shard=5/a.parquet is not what was written",
        ),
        (lambda seed: (seed.parent / "seed.complete").write_text(""), "seed.complete cannot be"),
    ],
    ids=["missing", "cut off", "swapped", "moved", "list"],
)
def test_a_damaged_seed_is_named(
    recovered: Generation, damage: Callable[[Path], object], problem: str
) -> None:
    damage(recovered.seed)

    with pytest.raises(DamagedSeedError, match=re.escape(problem) + ".* run `verdict recover`"):
        recovered.seeds(FRESH)


def test_a_disk_that_cannot_be_read_is_no_damage(recovered: Generation) -> None:
    (recovered.folder / "seed.complete").unlink()
    (recovered.folder / "seed.complete").symlink_to("/proc/self/mem")

    with pytest.raises(OSError, match="Input/output error"):
        recovered.seeds(FRESH)


def test_only_another_format_of_a_known_aggregate_makes_a_state_outdated(
    recovered: Generation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recovered.outdated(APPLICATION) == []
    stored = json.loads((recovered.folder / "snapshot-formats.json").read_text())

    now = {**stored, "order": f"2{stored['order'][1:]}", "added-later": "7 0"}
    monkeypatch.setattr(module, "snapshot_formats", lambda application: now)

    assert recovered.outdated(APPLICATION) == ["order"]


def with_state(**fields: Any) -> AggregateContext:
    """Return an aggregate that knows this of an item: a default by field."""
    given: dict[str, Any] = {name: (Text, default) for name, default in fields.items()}
    state: Any = create_model("Item", __base__=Message, **given)
    changed: Aggregate[Any] = order
    return replace(CATALOG["order"], aggregate=replace(changed, state=state))


def test_what_would_be_read_as_something_else_is_another_form() -> None:
    """No developer has to raise a number; else the rules would decide from it in silence."""
    before = form_of(with_state(title="x", note="none"))

    assert before != form_of(with_state(note="none", title="x"))
    assert before != form_of(with_state(title="x", note="none", more="y"))
    same = with_state(title="x", note="none")
    assert before != form_of(replace(same, aggregate=replace(same.aggregate, snapshot_format=2)))
    assert before == form_of(with_state(title="x", note="?"))  # bytes hold no default


def test_damaged_formats_are_named_with_what_to_do(tmp_path: Path) -> None:
    recovered = Generation(tmp_path, 2)
    recovered.note_formats(APPLICATION)
    (file,) = recovered.folder.glob("*formats.json")
    file.write_text(file.read_text()[:10])

    with pytest.raises(
        DamagedCheckpointError, match=r"formats\.json is damaged .*`verdict recover`"
    ):
        recovered.outdated(APPLICATION)
