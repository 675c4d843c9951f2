"""Roles that are processes of their own: each dies alone, and goes on where it was."""

import json
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.deployment import ASK_AGAIN_S, QUIET_S, Deployment
from tests.e2e.kept import kept
from verdict.adapters.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.process]

SELDOM_S = 0.05  # between two commands
ROLES = ("decider", "projections")


@pytest.mark.proves("C-01", "C-04", "C-18", "P-04")
@pytest.mark.thorough
def test_each_is_killed_in_turn_and_everything_is_what_the_model_says(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    deployment = Deployment(broker.bootstrap_servers, "roles", tmp_path / "d")
    with ExitStack() as held:
        starts = {role: partial(deployment.start, role=role) for role in ROLES}
        roles = {
            role: held.enter_context(kept(start, deployment.said)) for role, start in starts.items()
        }
        with deployment.traffic(seed=7, pause_s=SELDOM_S):
            for victim in ROLES:
                for role in roles.values():
                    role.running()
                await_more_outcomes(deployment)
                roles[victim].kill()
        pids = {name: role.running().pid for name, role in roles.items()}
        deployment.await_quiet()
        deployment.await_read_side()
        second = deployment.cli("run", "decider")
        found = json.loads(deployment.cli("status", "--json").stdout)["processes"]
        verified = deployment.cli("verify")

    assert verified.returncode == 0, verified.stdout + verified.stderr
    deployment.assert_as_the_model_says()
    assert {role: one["pid"] for one in found for role in one["roles"]} == pids
    assert second.returncode == 1
    assert f"is in use by the process with pid {pids['decider']}: stop that one" in second.stderr


def await_more_outcomes(deployment: Deployment) -> None:
    """Return when commands were decided since this was called."""
    before, deadline = deployment.outcomes(), time.monotonic() + QUIET_S
    while deployment.outcomes() == before:
        assert time.monotonic() < deadline, f"there are {before} outcomes and no more"
        time.sleep(ASK_AGAIN_S)
