"""G-01: a recovered state that is not as it was written is no beginning."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.application import APPLICATION
from verdict.streaming.exactly_once.checkpoint import FRESH
from verdict.write_side.decider_query.generation import DamagedSeedError, Generation

pytestmark = pytest.mark.proves("C-17")

Damage = Callable[[Path], object]
ONE, OTHER = "shard=0/a.parquet", "shard=7/b.parquet"


@pytest.fixture
def generation(tmp_path: Path) -> Generation:
    """A generation whose recovered state is complete."""
    found = Generation(tmp_path, 2)
    found.clear()
    for number, name in enumerate((ONE, OTHER)):
        file = found.seed / name
        file.parent.mkdir(parents=True)
        file.write_bytes(bytes([number]) * 100)
    found.complete(APPLICATION, aggregates=2, remembered=0)
    return found


def swap(seed: Path) -> None:
    one, other = (seed / ONE).read_bytes(), (seed / OTHER).read_bytes()
    (seed / ONE).write_bytes(other)
    (seed / OTHER).write_bytes(one)


def test_a_recovered_state_that_is_whole_is_taken_in(generation: Generation) -> None:
    assert generation.seeds(FRESH) == [
        (0, str(generation.seed / ONE)),
        (7, str(generation.seed / OTHER)),
    ]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda seed: (seed / ONE).unlink(), f"{ONE} is missing"),
        (
            lambda seed: (seed / ONE).write_bytes(bytes(60)),
            f"{ONE} has 60 bytes, and 100 were written",
        ),
        (swap, f"{ONE} holds other bytes than were written; {OTHER} holds other bytes"),
        (
            lambda seed: (seed / ONE).rename(seed / "shard=7" / "a.parquet"),
            f"{ONE} is missing; shard=7/a.parquet was not written by the recovery",
        ),
        (
            lambda seed: (seed.parent / "seed.complete").write_text(""),
            "seed.complete does not say what it consists of",
        ),
    ],
    ids=["missing", "cut off", "swapped", "moved", "of an older version"],
)
def test_what_is_missing_cut_off_or_swapped_is_named(
    generation: Generation, damage: Damage, said: str
) -> None:
    damage(generation.seed)

    with pytest.raises(DamagedSeedError, match=re.escape(said)) as refused:
        generation.seeds(FRESH)

    assert "run `verdict recover` once more" in str(refused.value)


def test_a_disk_that_cannot_be_read_is_no_damage(generation: Generation) -> None:
    (generation.folder / "seed.complete").unlink()
    (generation.folder / "seed.complete").symlink_to("/proc/self/mem")

    with pytest.raises(OSError, match="Input/output error"):
        generation.seeds(FRESH)
