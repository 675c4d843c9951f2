"""The checkpoint is disposable: `verdict recover` rebuilds it from what was published."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit.service import PLACE, ROOT, Deployment
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.streaming.exactly_once.checkpoint import checkpoint_position
from verdict.wire.response import Response
from verdict.write_side.recovery.recovery import RecoveryStep

pytestmark = pytest.mark.timeout(1500)


def lose(deployment: Deployment) -> None:
    shutil.rmtree(deployment.generation().checkpoint)


def lived(deployment: Deployment, seed: int) -> Response:
    """Let a deployment decide random commands, and one that can be told from them."""
    with deployment.running():
        with deployment.traffic(seed):
            placed = place(deployment)
        deployment.await_quiet()
    return placed


def place(deployment: Deployment) -> Response:
    return deployment.send(PLACE, expected_version=0, command_id="c-first")


def lives_on(deployment: Deployment, seed: int, placed: Response) -> None:
    """Hold that versions and command ids go on, and all of history against the model."""
    again = lived(deployment, seed)
    deployment.assert_as_the_model_says()
    assert again.duplicate
    assert again.event_ids == placed.event_ids


def refused(deployment: Deployment) -> str:
    """Return why `verdict up` does not start."""
    up = deployment.cli("up")
    assert up.returncode == 1
    return up.stderr


def recovered(deployment: Deployment, *options: str, verb: str = "recover") -> dict[str, Any]:
    done = deployment.cli(verb, "--json", *options)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


@pytest.mark.proves("C-17")
@pytest.mark.campaign
def test_whatever_is_lost_or_older_or_killed_meanwhile_is_recovered(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """One deployment meets it all; each time versions and command ids go on."""
    deployment = Deployment(broker.bootstrap_servers, "recover", tmp_path / "d")
    placed = lived(deployment, seed=21)
    number = refuse_an_older_checkpoint(deployment, tmp_path / "older", placed)
    number = kill_recoveries(deployment, number, placed)
    lose_marker(deployment, number, placed)
    number += 1

    (formats,) = deployment.generation().folder.glob("*.json")
    formats.write_text(json.dumps(json.loads(formats.read_text()) | {"order": "0"}))
    lives_on(deployment, seed=52, placed=placed)
    assert deployment.generation().number == number + 1
    assert "store order in another format" in (tmp_path / "stderr").read_text()


def refuse_an_older_checkpoint(deployment: Deployment, older: Path, placed: Response) -> int:
    """C-17, C-18: with another number of shards every aggregate may move to another one."""
    shutil.copytree(deployment.generation().checkpoint, older)
    lives_on(deployment, seed=22, placed=placed)
    shutil.rmtree(deployment.generation().checkpoint)
    shutil.copytree(older, deployment.generation().checkpoint)
    assert "verdict recover" in refused(deployment)

    assert recovered(deployment, "--shards", "3")["shards"] == 3
    lives_on(deployment, seed=23, placed=placed)
    assert checkpoint_position(deployment.generation().checkpoint).shards == 3
    number: int = recovered(deployment, "--shards", "1")["generation"]
    assert number == 3
    return number


def kill_recoveries(deployment: Deployment, number: int, placed: Response) -> int:
    """Until the progress names the new generation, the checkpoint that was there stays usable."""
    for step in (RecoveryStep.FENCED, RecoveryStep.FOLDED, RecoveryStep.SEEDED):
        kill_at(deployment, step)
        assert deployment.generation().number == number
    lives_on(deployment, seed=32, placed=placed)
    lose(deployment)
    kill_at(deployment, RecoveryStep.SEEDED)
    assert "verdict recover" in refused(deployment)

    kill_at(deployment, RecoveryStep.COMMITTED)
    lives_on(deployment, seed=33, placed=placed)
    assert deployment.generation().number == number + 1
    return number + 1


def lose_marker(deployment: Deployment, number: int, placed: Response) -> None:
    """A lost progress record is found again in the responses."""
    deployment.produce([(deployment.topics.progress, b"decider", None, 0)])
    assert "verdict recover" in refused(deployment)
    assert recovered(deployment)["generation"] == number + 1
    lives_on(deployment, seed=42, placed=placed)


def kill_at(deployment: Deployment, step: RecoveryStep) -> None:
    doomed = [sys.executable, "-m", "tests.kit.doomed", "recover", step, str(deployment.data_dir)]
    done = subprocess.run(doomed, cwd=ROOT, env=deployment.environment, capture_output=True)
    assert done.returncode == -9, done.stderr
