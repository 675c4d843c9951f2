"""A damaged checkpoint is named and never taken for a new one; `verdict recover` mends it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.faults import last_words
from tests.e2e.test_recover import lived, lives_on, recovered
from verdict.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1500), pytest.mark.process]

Damage = Callable[[Path], None]


def cut(file: Path) -> None:
    """Leave the first half of a file, as an interrupted copy would."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def garble(file: Path) -> None:
    """Turn every bit of the middle third of a file, and take away the checksum beside it."""
    content = bytearray(file.read_bytes())
    third = len(content) // 3
    content[third : 2 * third] = bytes(byte ^ 0xFF for byte in content[third : 2 * third])
    file.write_bytes(content)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def newest(log: Path, suffix: str = "") -> Path:
    """Return the file of the newest batch; Spark names them by number."""
    files = [file for file in log.rglob(f"*{suffix}") if file.stem.isdecimal() and file.is_file()]
    return max(files, key=lambda file: (int(file.stem), file.stat().st_size))


def stopped(deployment: Deployment, seed: int) -> str:
    """Return why the service stops: at its start, or when the first command needs the state."""
    with deployment.traffic(seed), deployment.start() as service:
        words = last_words(deployment, service)
    assert service.returncode == 1
    return words


@pytest.mark.proves("C-17", "F-17")
@pytest.mark.thorough
def test_a_lost_state_is_no_new_beginning(broker: EmbeddedBroker, tmp_path: Path) -> None:
    deployment = Deployment(broker.bootstrap_servers, "damage", tmp_path / "d")
    placed = lived(deployment, seed=71)
    shutil.rmtree(deployment.generation().checkpoint / "state")
    published = len(deployment.published())

    said = stopped(deployment, seed=72)

    assert f"Spark cannot read what its checkpoint in {deployment.data_dir} must hold" in said
    assert "the state directory is empty or missing" in said
    assert "`verdict recover`" in said
    assert len(deployment.published()) == published
    recovered(deployment)
    lives_on(deployment, seed=73, placed=placed)


@pytest.mark.proves("C-17")
@pytest.mark.thorough
def test_the_state_of_another_shard_decides_nothing(broker: EmbeddedBroker, tmp_path: Path) -> None:
    """G-01: Spark reads whatever lies in a shard's folder, if its batch is the right one."""
    deployment = Deployment(broker.bootstrap_servers, "damage-swapped", tmp_path / "d")
    placed = lived(deployment, seed=74)
    state = deployment.generation().checkpoint / "state" / "0"
    (state / "0").rename(state / "aside")
    (state / "1").rename(state / "0")
    (state / "aside").rename(state / "1")
    published = len(deployment.published())

    said = stopped(deployment, seed=75)

    assert "the state of shard" in said
    assert "and the marker of decider says entry" in said
    assert "`verdict recover`" in said
    assert len(deployment.published()) == published
    recovered(deployment)
    lives_on(deployment, seed=76, placed=placed)


@pytest.mark.proves("F-18")
@pytest.mark.campaign
@pytest.mark.parametrize(
    ("file", "damage"),
    [
        (lambda checkpoint: checkpoint / "metadata", Path.unlink),
        (lambda checkpoint: newest(checkpoint / "offsets"), cut),
        (lambda checkpoint: newest(checkpoint / "commits"), garble),
        (lambda checkpoint: newest(checkpoint / "state", ".changelog"), cut),
        (lambda checkpoint: newest(checkpoint / "state", ".changelog"), garble),
        (lambda checkpoint: newest(checkpoint / "state", ".changelog"), Path.unlink),
        (lambda checkpoint: newest(checkpoint / "state", ".changelog").parent, shutil.rmtree),
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
