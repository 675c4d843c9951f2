"""A deployment on a Spark cluster: whatever happens to its machines, all is as the model says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.application import APPLICATION
from tests.e2e.cluster import HERE, Cluster, cluster
from tests.kit.faults import pause
from tests.kit.service import ROOT, WAIT_S, Deployment, kept
from tests.wire.examples import COMMANDS
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.client.client import Client
from verdict.streaming.exactly_once.query import lake_query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.testing.service import end_with_all_they_started

pytestmark = [pytest.mark.timeout(900), pytest.mark.thorough]

WANTED = 1_000
BETWEEN = 200  # outcomes between two misfortunes


class Machines(NamedTuple):
    """A cluster whose workers share nothing with the driver but one folder, and who runs there."""

    cluster: Cluster
    deployment: Deployment
    folder: Path


@pytest.fixture
def machines(
    request: pytest.FixtureRequest, broker: EmbeddedBroker, tmp_path: Path
) -> Iterator[Machines]:
    name = "".join(one for one in request.node.name if one.isalpha())[-30:]
    deployment = Deployment(broker.bootstrap_servers, name, tmp_path / "d")
    hidden = [tmp_path / name for name in ("d", "driver", "elsewhere")]
    with cluster(tmp_path / "spark", {"PYTHONPATH": str(ROOT)}, hidden) as made:
        deployment.environment |= {
            "VERDICT_SPARK_MASTER": made.url,
            "VERDICT_SHARED_DIR": str(tmp_path / "shared"),
            "VERDICT_SPARK": json.dumps({"driver.host": HERE, "driver.bindAddress": HERE}),
        }
        yield Machines(made, deployment, tmp_path)


@pytest.mark.proves("C-01", "C-04")
def test_a_decider_is_killed_and_goes_on_upon_another_host(machines: Machines) -> None:
    """It finds nothing of the former one but the folder that all share."""
    cluster, deployment, folder = machines
    for _ in range(2):
        cluster.worker()
    deployment.environment["VERDICT_DATA_DIR"] = str(folder / "driver")
    with kept(deployment, "decider") as decider:
        with deployment.traffic(seed=11):
            decider.running()
            deployment.await_outcomes(WANTED // 2)
            decider.kill()
            deployment.environment["VERDICT_DATA_DIR"] = str(folder / "elsewhere")
            decider.running()
            deployment.await_outcomes(WANTED)
        deployment.await_quiet()

    deployment.assert_as_the_model_says()
    kept_files = [path for path in (folder / "shared").rglob("*") if path.is_file()]
    of_executors = [path for path in kept_files if "state" in path.parts]
    assert of_executors
    assert not [path for path in {*kept_files} - {*of_executors} if path.suffix == ".crc"]
    for data_dir in (folder / "driver", folder / "elsewhere"):
        assert not (data_dir / "state").exists()
        assert not (data_dir / "decider").exists()


@pytest.mark.proves("C-01", "C-04")
def test_a_worker_freezes_and_wakes_up_and_workers_are_killed_until_none_is_left(
    machines: Machines,
) -> None:
    deployment = machines.deployment
    deployment.environment["VERDICT_SLOW_BATCH_S"] = "30"
    workers = [machines.cluster.worker() for _ in range(2)]
    with kept(deployment, "decider") as decider:
        decider.running()
        with deployment.traffic(seed=12):
            deployment.await_outcomes(BETWEEN)
            resume = pause(workers[0])
            deployment.await_outcomes(deployment.outcomes() + BETWEEN)
            resume()
            deployment.await_outcomes(deployment.outcomes() + BETWEEN)
            end_with_all_they_started(workers[0])
            deployment.await_outcomes(deployment.outcomes() + 1)
            end_with_all_they_started(workers[1])
            deployment.await_problem("of decider has been under way since")
            for _ in range(2):
                machines.cluster.worker()
            deployment.await_outcomes(deployment.outcomes() + 1)
        deployment.await_quiet()

    deployment.assert_as_the_model_says()


def test_storage_that_is_not_shared_is_refused_for_state_and_lake(machines: Machines) -> None:
    """The progress record of each stays where it was."""
    deployment, hidden = machines.deployment, machines.folder / "elsewhere"
    shared = deployment.environment["VERDICT_SHARED_DIR"]
    for _ in range(2):
        machines.cluster.worker()
    deployment.environment["VERDICT_SHARED_DIR"] = str(hidden)
    with deployment.start(role="decider") as refused:
        assert refused.wait(WAIT_S) == 1
    assert f"does not see what was written to {hidden} (shared_dir)" in deployment.said()
    assert deployment.seen().progress is None

    deployment.environment["VERDICT_SHARED_DIR"] = shared
    with (
        kept(deployment, "decider") as decider,
        Client(APPLICATION, deployment.servers, deployment.topics) as client,
    ):
        decider.running()
        for command in COMMANDS["invoice"]:
            client.send("7", command, expected_version=0).wait(WAIT_S)
    deployment.environment["VERDICT_LAKE_DIR"] = str(hidden)
    with deployment.start(role="lake") as lake:
        assert lake.wait(WAIT_S) == 1
    assert "see the same folder (lake_dir, else shared_dir)" in deployment.said()
    progress = read_progress(deployment.kafka, lake_query(deployment.topics), wait=True).progress
    assert progress is not None
    assert progress.batch_id == -1
    assert not any(map(sum, progress.offsets.values()))
