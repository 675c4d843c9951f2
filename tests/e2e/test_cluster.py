"""A deployment on a Spark cluster: whatever happens to its machines, all is as the model says."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.application import APPLICATION
from tests.e2e.cluster import HERE, Cluster, cluster
from tests.e2e.deployment import ASK_AGAIN_S, QUIET_S, ROOT, Deployment
from tests.e2e.kept import Kept, kept
from tests.e2e.paused import pause
from tests.e2e.test_recover import recovered
from tests.wire.examples import COMMANDS
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.client.client import Client
from verdict.streaming.exactly_once.query import lake_query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.testing.service import end_with_all_they_started

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.process,
    pytest.mark.thorough,
]

WANTED = 1_000
BETWEEN = 200  # outcomes between two misfortunes
CLUSTER = ("VERDICT_SPARK_MASTER", "VERDICT_SHARED_DIR", "VERDICT_SPARK")
Note = Callable[[str, object], None]


@contextmanager
def decider(deployment: Deployment) -> Iterator[Kept]:
    """Give the decider of a deployment, which runs when it is asked for."""
    with kept(lambda: deployment.start(role="decider"), deployment.said) as one:
        one.running()
        yield one


class Machines(NamedTuple):
    """A cluster whose workers share nothing with the driver but one folder, and who runs there."""

    cluster: Cluster
    deployment: Deployment
    folder: Path

    @contextmanager
    def decider(self) -> Iterator[Kept]:
        """Give the decider, which runs when it is asked for."""
        with decider(self.deployment) as one:
            yield one


@pytest.fixture
def machines(
    request: pytest.FixtureRequest, broker: EmbeddedBroker, tmp_path: Path
) -> Iterator[Machines]:
    name = "".join(one for one in request.node.name if one.isalpha())[-30:]
    deployment = Deployment(broker.bootstrap_servers, name, tmp_path / "d")
    image, hidden = {"PYTHONPATH": str(ROOT)}, [tmp_path / "d", tmp_path / "elsewhere"]
    with cluster(tmp_path / "spark", image, hidden) as made:
        deployment.environment |= {
            "VERDICT_SPARK_MASTER": made.url,
            "VERDICT_SHARED_DIR": str(tmp_path / "shared"),
            "VERDICT_SPARK": json.dumps({"driver.host": HERE, "driver.bindAddress": HERE}),
        }
        yield Machines(made, deployment, tmp_path)


@pytest.mark.proves("C-01", "C-04")
def test_a_driver_is_killed_and_goes_on_upon_another_host(machines: Machines) -> None:
    """It finds nothing of the former one but the folder that all share."""
    _, deployment, folder = machines
    for _ in range(2):
        machines.cluster.worker()
    with machines.decider() as decider, deployment.traffic(seed=11):
        await_outcomes(deployment, WANTED // 2)
        decider.kill()
        deployment.environment["VERDICT_DATA_DIR"] = str(folder / "elsewhere")
        decider.running()
        await_outcomes(deployment, WANTED)
    with machines.decider():
        deployment.await_quiet()

    deployment.assert_as_the_model_says()
    kept_files = [path for path in (folder / "shared").rglob("*") if path.is_file()]
    of_executors = [path for path in kept_files if "state" in path.parts]
    assert of_executors
    assert not [path for path in {*kept_files} - {*of_executors} if path.suffix == ".crc"]
    for data_dir in (folder / "d", folder / "elsewhere"):
        assert not (data_dir / "state").exists()
        assert not (data_dir / "decider").exists()


@pytest.mark.proves("C-01", "C-04")
def test_a_deployment_moves_from_one_machine_to_a_cluster(machines: Machines) -> None:
    deployment = machines.deployment
    on_a_cluster = deployment.environment
    deployment.environment = {n: v for n, v in on_a_cluster.items() if n not in CLUSTER}
    with machines.decider(), deployment.traffic(seed=15):
        await_outcomes(deployment, BETWEEN)
    deployment.environment = on_a_cluster
    for _ in range(2):
        machines.cluster.worker()
    recovered(deployment)
    with machines.decider():
        with deployment.traffic(seed=16):
            await_outcomes(deployment, 2 * BETWEEN)
        deployment.await_quiet()

    deployment.assert_as_the_model_says()


@pytest.mark.proves("C-01", "C-04")
def test_workers_are_killed_under_load_until_none_is_left(
    machines: Machines, record_property: Note
) -> None:
    deployment = machines.deployment
    workers = [machines.cluster.worker() for _ in range(2)]
    with machines.decider():
        with deployment.traffic(seed=12):
            await_outcomes(deployment, BETWEEN)
            end_with_all_they_started(workers[0])
            noted(record_property, "one of two workers killed", deployment)
            end_with_all_they_started(workers[1])
            await_problem(deployment, "the decider stopped: no executor of")
            for _ in range(2):
                machines.cluster.worker()
            noted(record_property, "two workers after none", deployment)
        deployment.await_quiet()

    deployment.assert_as_the_model_says()


@pytest.mark.proves("C-01", "C-04")
def test_a_worker_stands_still_and_wakes_up_behind_those_who_went_on(
    machines: Machines, record_property: Note
) -> None:
    deployment = machines.deployment
    workers = [machines.cluster.worker() for _ in range(2)]
    with machines.decider():
        with deployment.traffic(seed=13):
            await_outcomes(deployment, BETWEEN)
            resume = pause(workers[0])
            noted(record_property, "one of two workers paused", deployment, BETWEEN)
            resume()
            noted(record_property, "the paused one is back", deployment, BETWEEN)
        deployment.await_quiet()

    deployment.assert_as_the_model_says()


def test_storage_that_is_not_shared_is_refused(machines: Machines) -> None:
    for _ in range(2):
        machines.cluster.worker()
    hidden = machines.folder / "elsewhere"
    machines.deployment.environment["VERDICT_SHARED_DIR"] = str(hidden)

    with machines.deployment.start(role="decider") as refused:
        assert refused.wait(QUIET_S) == 1

    said = machines.deployment.said()
    assert f"does not see what was written to {hidden} (shared_dir)" in said
    assert machines.deployment.seen().progress is None


def test_rows_of_a_lake_that_no_worker_shares_are_missed_and_its_progress_record_stays(
    machines: Machines,
) -> None:
    deployment = machines.deployment
    machines.cluster.worker()
    with (
        machines.decider(),
        Client(APPLICATION, deployment.bootstrap_servers, deployment.topics) as client,
    ):
        for command in COMMANDS["invoice"]:
            client.send("7", command, expected_version=0).wait(QUIET_S)
    deployment.environment["VERDICT_LAKE_DIR"] = str(machines.folder / "elsewhere")

    with deployment.start(role="lake") as lake:
        assert lake.wait(QUIET_S) == 1

    assert "see the same folder (lake_dir, else shared_dir)" in deployment.said()
    kafka = KafkaConfig(settings={"bootstrap.servers": deployment.bootstrap_servers})
    progress = read_progress(kafka, lake_query(deployment.topics), wait=True).progress
    assert progress is not None
    assert progress.batch_id == -1
    assert not any(map(sum, progress.offsets.values()))


def await_outcomes(deployment: Deployment, wanted: int) -> None:
    """Return when so many commands have one."""
    deadline = time.monotonic() + QUIET_S
    while (found := deployment.outcomes()) < wanted:
        assert time.monotonic() < deadline, f"{found} of {wanted} commands have an outcome"
        time.sleep(ASK_AGAIN_S)


def noted(record_property: Note, what: str, deployment: Deployment, more: int = 1) -> None:
    """Note how many seconds pass until so many more commands have an outcome."""
    began, before = time.monotonic(), deployment.outcomes()
    await_outcomes(deployment, before + more)
    seconds = time.monotonic() - began
    record_property(what, f"{seconds:.1f}")
    print(f"{what}: {more} outcomes more after {seconds:.1f} s")


def await_problem(deployment: Deployment, told: str) -> None:
    """Return when `verdict status` says that."""
    deadline = time.monotonic() + QUIET_S
    while told not in (said := deployment.cli("status", "--json").stdout):
        assert time.monotonic() < deadline, said
