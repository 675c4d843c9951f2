"""SIGKILL at every point that matters: nothing is lost, nothing is decided twice."""

import subprocess
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.e2e.deployment import AFTER, BEFORE, INSIDE, Deployment, await_ready
from tests.tiers import is_thorough
from verdict.exactly_once.steps import Step
from verdict.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1500), pytest.mark.process]

FAILPOINTS = {
    (Step.OUTPUT_COMPUTED, 2): BEFORE,
    (Step.BEFORE_COMMIT, 1): INSIDE,
    (Step.COMMITTED, 3): AFTER,
}
if is_thorough():
    FAILPOINTS[Step.TRANSACTION_OPEN, 3] = INSIDE
RANDOM_KILLS = 1 if is_thorough() else 0  # `make chaos` does as many as one likes


@pytest.mark.proves("C-01", "C-04", "C-14")
def test_after_every_kill_everything_is_what_the_model_says(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """C-01, C-04, C-14: the crash table of the design, each row hit, under traffic."""
    deployment = Deployment(broker.bootstrap_servers, "kills", tmp_path / "d")
    hits: Counter[str | None] = Counter()
    with deployment.traffic(seed=1):
        for doom, row in FAILPOINTS.items():
            with deployment.start(doom) as service:
                assert service.wait() == -9
            hits[row] += 1
        for seed in range(RANDOM_KILLS):
            kill_at_random(deployment, Random(seed))
            hits[deployment.crash_table_row()] += 1
    print(f"kills by row of the crash table: {dict(hits)}")
    with deployment.running():
        deployment.await_quiet()

    deployment.assert_as_the_model_says()
    assert all(hits[row] for row in (BEFORE, INSIDE, AFTER)), hits


def kill_at_random(deployment: Deployment, random: Random) -> None:
    """Kill the service some moment after it began to answer."""
    with deployment.start() as service:
        await_ready(service)
        with pytest.raises(subprocess.TimeoutExpired):
            service.wait(timeout=random.uniform(0, 15))
        service.kill()
