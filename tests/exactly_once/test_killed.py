"""The crash table: an owner is killed for real, and another process goes on."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.exactly_once.deployment import Deployment, values
from tests.tiers import the_first_of
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.checkpoint import FRESH
from verdict.streaming.exactly_once.failpoints import Failpoint

ROOT = Path(__file__).parents[2]


def kill_at(step: Failpoint, deployment: Deployment) -> None:
    servers = str(deployment.kafka.settings["bootstrap.servers"])
    command = [sys.executable, "-m", "tests.kit.doomed", "owner", servers, deployment.name, step]
    assert subprocess.run(command, cwd=ROOT).returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    "step", the_first_of(Failpoint.CLAIMED, Failpoint.INITIALISED, Failpoint.PROGRESS_READ)
)
def test_killed_while_taking_over_the_next_start_is_an_ordinary_one(
    deployment: Deployment, step: Failpoint
) -> None:
    kill_at(step, deployment)

    publisher = deployment.claim(FRESH)

    assert publisher.publish(deployment.batch(0), deployment.outputs(0))
    assert deployment.visible() == values(0)


@pytest.mark.parametrize(
    "step",
    the_first_of(Failpoint.BEFORE_COMMIT, Failpoint.TRANSACTION_OPEN, Failpoint.OUTPUT_COMPUTED),
)
def test_killed_before_the_commit_nothing_is_visible_and_the_batch_is_published_again(
    deployment: Deployment, step: Failpoint
) -> None:
    kill_at(step, deployment)

    publisher = deployment.claim(deployment.checkpoint(0, committed=False))

    assert publisher.progress.batch_id == -1
    assert deployment.visible() == []  # and nothing is open that would hide what follows
    deployment.send(deployment.events, b"sent without a transaction")
    assert deployment.visible() == [b"sent without a transaction"]
    assert publisher.publish(deployment.batch(0), deployment.outputs(0))
    assert deployment.visible() == sorted([*values(0), b"sent without a transaction"])


def test_killed_after_the_commit_the_batch_is_skipped(deployment: Deployment) -> None:
    kill_at(Failpoint.COMMITTED, deployment)

    publisher = deployment.claim(deployment.checkpoint(0, committed=False))

    assert not publisher.publish(deployment.batch(0), deployment.outputs(0))
    next_batch: list[OutputRecord] = deployment.outputs(1)
    assert publisher.publish(deployment.batch(1), next_batch)
    assert deployment.visible() == values(0, 1)
