"""Roles that are processes of their own: each dies alone, and goes on where it was."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.kit.service import SELDOM_S, Deployment, kept
from verdict.adapters.local.broker import EmbeddedBroker

pytestmark = pytest.mark.timeout(900)

ROLES = ("decider", "projections")


@pytest.mark.proves("C-01", "C-04", "C-18", "P-04")
@pytest.mark.thorough
def test_each_is_killed_in_turn_and_everything_is_what_the_model_says(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    deployment = Deployment(broker.bootstrap_servers, "roles", tmp_path / "d")
    with ExitStack() as held:
        roles = {role: held.enter_context(kept(deployment, role)) for role in ROLES}
        with deployment.traffic(seed=7, pause_s=SELDOM_S):
            for victim in ROLES:
                for role in roles.values():
                    role.running()
                deployment.await_outcomes(deployment.outcomes() + 1)
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
