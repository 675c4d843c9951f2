"""SIGKILL at every point that matters: nothing is lost, nothing is decided twice."""

import json
import subprocess
from functools import partial
from random import Random

import pytest

from tests.e2e.tills import assert_sold, await_quiet, send
from tests.kit.faults import last_words, spark_jvm
from tests.kit.service import SELDOM_S, Deployment, Kept
from tests.reactions.tills import sales
from tests.tiers import is_thorough
from verdict.streaming.exactly_once.failpoints import Failpoint

pytestmark = [pytest.mark.timeout(1500), pytest.mark.long]

# before the transaction, inside, and after it: the rows of the design's crash table
FAILPOINTS = [
    (Failpoint.BEFORE_COMMIT, 1),
    (Failpoint.OUTPUT_COMPUTED, 2),
    (Failpoint.TRANSACTION_OPEN, 3),
    (Failpoint.COMMITTED, 3),
]
RANDOM_KILLS = 2 if is_thorough() else 0  # `make chaos` does as many as one likes
SALES = 200


@pytest.mark.proves("C-01", "C-04", "C-14", "C-15", "F-05", "P-04", "P-05", "P-07")
def test_after_every_kill_everything_is_what_the_model_says(
    deployment: Deployment, kept_service: Kept
) -> None:
    """The crash table of the design, each row hit, while others and tills send what they send."""
    deaths = [
        partial(end_jvm, deployment, kept_service),
        *(partial(doom, deployment, *failpoint) for failpoint in FAILPOINTS),
        *(partial(kill_at_random, kept_service, Random(seed)) for seed in range(RANDOM_KILLS)),
    ]
    day = list(sales(SALES, seed=5))
    with deployment.traffic(seed=1, pause_s=2 * SELDOM_S):
        for number, die in enumerate(deaths):
            send(deployment, day[number :: len(deaths)])
            die()
    kept_service.running()
    await_quiet(deployment)
    standing = json.loads(deployment.cli("status", "--json").stdout)

    deployment.assert_as_the_model_says()
    assert_sold(deployment, day)
    lags = {one["processor"]: one["lag"] for one in standing["processors"]}
    assert lags == {"policies": 0, "lake": 0}


def end_jvm(deployment: Deployment, kept_service: Kept) -> None:
    """F-05: as the system does when memory is short; the service says so, and ends."""
    service = kept_service.running()
    spark_jvm(service.pid).kill()
    assert "the JVM of Spark ended with -9" in last_words(deployment, service)
    assert service.returncode == 1
    assert "py4j" not in deployment.said()


def doom(deployment: Deployment, step: Failpoint, nth: int) -> None:
    """Let a service kill itself."""
    with deployment.start((step, nth)) as service:
        assert service.wait() == -9


def kill_at_random(kept_service: Kept, random: Random) -> None:
    """Kill the service some moment after it began to answer."""
    with pytest.raises(subprocess.TimeoutExpired):
        kept_service.running().wait(timeout=random.uniform(0, 15))
    kept_service.kill()
