"""The checkpoint is disposable: `verdict recover` rebuilds it from what was published."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.e2e.deployment import ROOT, Deployment
from tests.e2e.test_restart import PLACE, send
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.streaming.exactly_once.checkpoint import checkpoint_position
from verdict.wire.response import Response
from verdict.write_side.recovery.recovering import RecoveryStep

SMALLER = """
from dataclasses import replace
from compose.application import app as whole
left = tuple(one for one in whole.aggregates if one.name != "order")
app = replace(whole, aggregates=left, projections=(), policies=())
"""
pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1500), pytest.mark.process]


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
    return send(deployment, PLACE, expected_version=0, command_id="c-first")


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


@pytest.mark.campaign
def test_an_older_checkpoint_is_refused_and_rebuilt_with_more_shards(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """C-17, C-18: with another number of shards every aggregate may move to another one."""
    deployment = Deployment(broker.bootstrap_servers, "recover-shards", tmp_path / "d")
    placed = lived(deployment, seed=21)
    older = tmp_path / "older"
    shutil.copytree(deployment.generation().checkpoint, older)
    lives_on(deployment, seed=22, placed=placed)
    shutil.rmtree(deployment.generation().checkpoint)
    shutil.copytree(older, deployment.generation().checkpoint)
    assert "verdict recover" in refused(deployment)

    assert recovered(deployment, "--shards", "3")["shards"] == 3
    lives_on(deployment, seed=23, placed=placed)
    assert checkpoint_position(deployment.generation().checkpoint).shards == 3
    assert recovered(deployment, "--shards", "1")["generation"] == 3
    lives_on(deployment, seed=24, placed=placed)


@pytest.mark.proves("C-17")
@pytest.mark.campaign
def test_a_recovery_that_is_killed_anywhere_is_run_again(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Until the progress names the new generation, the checkpoint that was there stays usable."""
    deployment = Deployment(broker.bootstrap_servers, "recover-killed", tmp_path / "d")
    placed = lived(deployment, seed=31)
    for step in (RecoveryStep.FENCED, RecoveryStep.FOLDED, RecoveryStep.SEEDED):
        kill_at(deployment, step)
        assert deployment.generation().number == 1
    lives_on(deployment, seed=32, placed=placed)
    lose(deployment)
    kill_at(deployment, RecoveryStep.SEEDED)
    assert "verdict recover" in refused(deployment)

    kill_at(deployment, RecoveryStep.COMMITTED)
    lives_on(deployment, seed=33, placed=placed)
    assert deployment.generation().number == 2


@pytest.mark.campaign
def test_a_start_with_another_snapshot_format_recovers_by_itself(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    deployment = Deployment(broker.bootstrap_servers, "recover-format", tmp_path / "d")
    placed = lived(deployment, seed=51)
    (formats,) = deployment.generation().folder.glob("*.json")
    formats.write_text(json.dumps(json.loads(formats.read_text()) | {"order": 0}))

    lives_on(deployment, seed=52, placed=placed)
    assert deployment.generation().number == 2
    assert "store order in another format" in (tmp_path / "stderr").read_text()


@pytest.mark.proves("C-17")
@pytest.mark.campaign
def test_without_an_aggregate_that_has_decided_nothing_starts_and_nothing_is_recovered(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """What there is of it would begin at version 0 again, as soon as it is back."""
    deployment = Deployment(broker.bootstrap_servers, "recover-left-out", tmp_path / "d")
    placed = lived(deployment, seed=61)
    (tmp_path / "smaller.py").write_text(SMALLER)
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    for verb in ("up", "recover"):
        said = deployment.cli(verb, VERDICT_APP="smaller:app", PYTHONPATH=path)
        assert said.returncode == 1
        assert "has no aggregate order, and its commands are decided here" in said.stderr
    assert deployment.generation().number == 1

    (formats,) = deployment.generation().folder.glob("*.json")
    stored = json.loads(formats.read_text())
    del stored["order"]  # as a recovery without it left behind, before that was refused
    formats.write_text(json.dumps(stored))
    lives_on(deployment, seed=62, placed=placed)
    assert deployment.generation().number == 2


@pytest.mark.campaign
def test_a_lost_progress_record_is_found_again_in_the_responses(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    deployment = Deployment(broker.bootstrap_servers, "recover-progress record", tmp_path / "d")
    placed = lived(deployment, seed=41)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(deployment.topics.progress, None, b"decider")
    assert producer.flush(30) == 0
    assert "verdict recover" in refused(deployment)

    assert recovered(deployment)["generation"] == 2
    lives_on(deployment, seed=42, placed=placed)


def kill_at(deployment: Deployment, step: RecoveryStep) -> None:
    doomed = [sys.executable, "-m", "tests.e2e.doomed_recovery", step, str(deployment.data_dir)]
    done = subprocess.run(doomed, cwd=ROOT, env=deployment.environment, capture_output=True)
    assert done.returncode == -9, done.stderr
