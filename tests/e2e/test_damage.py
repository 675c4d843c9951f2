"""A damaged checkpoint is named and never taken for a new one; `verdict recover` mends it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.test_recover import lived, lives_on, lose, recovered, refused
from tests.kit.faults import last_words
from tests.kit.service import SELDOM_S, Deployment
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.response import Response

pytestmark = pytest.mark.timeout(1500)

Damage = Callable[[Path], None]


class Lost(NamedTuple):
    """A deployment, and its first answer, which it must remember."""

    deployment: Deployment
    placed: Response


def cut(file: Path) -> None:
    """Leave the first half of a file, as an interrupted copy would."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def garble(file: Path) -> None:
    """Turn every bit of the middle third of a file, and take away the checksum next to it."""
    content = bytearray(file.read_bytes())
    third = len(content) // 3
    content[third : 2 * third] = bytes(byte ^ 0xFF for byte in content[third : 2 * third])
    file.write_bytes(content)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def newest(log: Path, suffix: str = "") -> Path:
    """Return the file of the newest batch; Spark names them by number."""
    files = [file for file in log.rglob(f"*{suffix}") if file.stem.isdecimal() and file.is_file()]
    return max(files, key=lambda file: (int(file.stem), file.stat().st_size))


def changelog(checkpoint: Path) -> Path:
    return newest(checkpoint / "state", ".changelog")


def stopped(deployment: Deployment, seed: int) -> str:
    """Return why the service stops: at its start, or when the first command needs the state."""
    with deployment.traffic(seed, SELDOM_S), deployment.start() as service:
        words = last_words(deployment, service)
    assert service.returncode == 1
    return words


@pytest.fixture(scope="module")
def lost(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Lost:
    """A deployment that has lived, and what it answered then; each test lets it live on."""
    folder = tmp_path_factory.mktemp("damage") / "d"
    deployment = Deployment(broker.bootstrap_servers, "damage", folder)
    return Lost(deployment, lived(deployment, seed=71))


def lose_state(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint / "state")


def swap_shards(checkpoint: Path) -> None:
    """G-01: Spark reads whatever is in a shard's folder, if its batch is the right one."""
    state = checkpoint / "state" / "0"
    (state / "0").rename(state / "aside")
    (state / "1").rename(state / "0")
    (state / "aside").rename(state / "1")


@pytest.mark.proves("C-17", "F-17")
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("seed", "damage", "named"),
    [
        (72, lose_state, ("Spark cannot read what its", "state directory is empty or missing")),
        (75, swap_shards, ("the state of shard", "and the progress record of decider says entry")),
    ],
)
def test_a_state_that_is_lost_or_another_shard_s_decides_nothing(
    lost: Lost, seed: int, damage: Damage, named: tuple[str, str]
) -> None:
    damage(lost.deployment.generation().checkpoint)
    published = len(lost.deployment.published())

    said = stopped(lost.deployment, seed)

    assert [text for text in (*named, "`verdict recover`") if text not in said] == []
    assert len(lost.deployment.published()) == published
    recovered(lost.deployment)
    lives_on(lost.deployment, seed + 1, placed=lost.placed)


@pytest.mark.proves("C-17")
@pytest.mark.thorough
def test_a_checkpoint_that_is_lost_is_rebuilt(lost: Lost) -> None:
    """C-17: versions continue, nothing is decided twice, command ids are remembered."""
    number = lost.deployment.generation().number
    lose(lost.deployment)
    assert "verdict recover" in refused(lost.deployment)

    facts = recovered(lost.deployment)

    assert (facts["generation"], facts["shards"]) == (number + 1, 2)
    assert facts["events"] == sum(".events" in one.topic for one in lost.deployment.published())
    for seed in (12, 13):  # then the seed is used up, and the plan another
        lives_on(lost.deployment, seed, placed=lost.placed)
    assert not lost.deployment.generation().seeded


@pytest.mark.proves("F-18")
@pytest.mark.campaign
@pytest.mark.parametrize(
    ("file", "damage"),
    [
        (lambda checkpoint: checkpoint / "metadata", Path.unlink),
        (lambda checkpoint: newest(checkpoint / "offsets"), cut),
        (lambda checkpoint: newest(checkpoint / "commits"), garble),
        (changelog, cut),
        (changelog, garble),
        (changelog, Path.unlink),
        (lambda checkpoint: changelog(checkpoint).parent, shutil.rmtree),
        (lambda checkpoint: checkpoint / "state" / "0" / "_metadata", shutil.rmtree),
    ],
    ids=["metadata", "offsets", "commit", "cut", "garbled", "missing", "shard", "schema"],
)
def test_whatever_is_damaged_stops_the_service_until_it_is_recovered(
    broker: EmbeddedBroker,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    file: Callable[[Path], Path],
    damage: Damage,
) -> None:
    name = request.node.callspec.id
    deployment = Deployment(broker.bootstrap_servers, f"damage-{name}", tmp_path / "d")
    placed = lived(deployment, seed=81)
    damage(file(deployment.generation().checkpoint))
    published = len(deployment.published())

    said = stopped(deployment, seed=82)

    # which file it is Spark does not always say
    assert str(deployment.data_dir) in said
    assert "`verdict recover`" in said
    assert len(deployment.published()) == published
    recovered(deployment)
    lives_on(deployment, seed=83, placed=placed)
