"""The decider on a Spark cluster: what it says is what the model says, as on one machine."""

import json
import time
from pathlib import Path

import pytest

from tests.e2e.cluster import HERE, cluster
from tests.e2e.deployment import ASK_AGAIN_S, QUIET_S, ROOT, Deployment
from tests.e2e.kept import kept
from verdict.local.broker import EmbeddedBroker

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.process,
    pytest.mark.thorough,
]

COMMANDS = 1_000


@pytest.mark.proves("C-01", "C-04")
def test_a_thousand_commands_are_decided_on_executors_as_the_model_says(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Killed in between: the next driver goes on from the checkpoint that all of them share."""
    deployment = Deployment(broker.bootstrap_servers, "cluster", tmp_path / "d")
    image = {"PYTHONPATH": str(ROOT)}
    with cluster(tmp_path / "spark", image) as master:
        deployment.environment |= {
            "VERDICT_SPARK_MASTER": master,
            "VERDICT_SHARED_DIR": str(tmp_path / "shared"),
            "VERDICT_SPARK": json.dumps({"driver.host": HERE, "driver.bindAddress": HERE}),
        }
        with kept(lambda: deployment.start(role="decider"), deployment.said) as decider:
            decider.running()
            with deployment.traffic(seed=11):
                await_outcomes(deployment, COMMANDS // 2)
                decider.kill()
                decider.running()
                await_outcomes(deployment, COMMANDS)
            deployment.await_quiet()

    deployment.assert_as_the_model_says()
    kept_files = [path for path in (tmp_path / "shared").rglob("*") if path.is_file()]
    assert any("state" in path.parts for path in kept_files)
    assert not [path for path in kept_files if path.suffix == ".crc"]
    assert not (tmp_path / "d" / "state").exists()
    assert not (tmp_path / "d" / "decider").exists()


def await_outcomes(deployment: Deployment, wanted: int) -> None:
    """Return when so many commands have one."""
    deadline = time.monotonic() + QUIET_S
    while (found := deployment.outcomes()) < wanted:
        assert time.monotonic() < deadline, f"{found} of {wanted} commands have an outcome"
        time.sleep(ASK_AGAIN_S)
