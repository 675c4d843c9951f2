"""A decider whose checkpoint is in an object store: killed, moved, cut off from it, recovered."""

from pathlib import Path

import pytest

from tests.e2e.test_recover import recovered
from tests.kit.service import Deployment, kept
from tests.storage.server import BUCKET, object_store
from verdict.adapters.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.timeout(900), pytest.mark.thorough]


@pytest.mark.proves("C-01", "C-04")
def test_nothing_is_lost_or_said_twice_whatever_happens_to_driver_and_store(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    deployment = Deployment(broker.bootstrap_servers, "instore", tmp_path / "d")
    with object_store(tmp_path / "store") as store:
        deployment.environment |= store.environment
        deployment.environment["VERDICT_SHARED_DIR"] = f"s3a://{BUCKET}/decider"
        with kept(deployment, "decider") as one, deployment.traffic(seed=31):
            one.running()
            deployment.await_outcomes(100)
            one.kill()
            deployment.environment["VERDICT_DATA_DIR"] = str(tmp_path / "another host")
            one.running()
            deployment.await_outcomes(200)
            store.kill()
            deployment.await_problem("the object store")
            store.start()
            deployment.await_outcomes(300)
        recovered(deployment, "--shards", "3")
        with kept(deployment, "decider") as one:
            one.running()
            with deployment.traffic(seed=32):
                deployment.await_outcomes(400)
            deployment.await_quiet()

    deployment.assert_as_the_model_says()
    for data_dir in (tmp_path / "d", tmp_path / "another host"):
        assert not (data_dir / "decider").exists()
