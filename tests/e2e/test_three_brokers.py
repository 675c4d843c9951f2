"""A Kafka of three brokers, of which one at a time goes: only the log tells."""

import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.application import APPLICATION
from tests.kit.deployment import await_true
from tests.kit.faults import PATIENT
from tests.kit.service import PLACE, SELDOM_S, WAIT_S, Deployment
from tests.ports import free_ports
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.client.client import Client

pytestmark = pytest.mark.timeout(1500)

COPIES, IN_SYNC = 3, 2
REPLICATED = {
    "default.replication.factor": str(COPIES),
    "min.insync.replicas": str(IN_SYNC),
    "offsets.topic.replication.factor": str(COPIES),
    "transaction.state.log.replication.factor": str(COPIES),
    "transaction.state.log.min.isr": str(IN_SYNC),
}


@contextmanager
def three_brokers(folder: Path) -> Iterator[list[EmbeddedBroker]]:
    """Run three, each with a JVM, a port and a disk; the first one is the controller too."""
    port, controller = free_ports(2)
    first = {
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{controller}",
    }
    with ExitStack() as running:
        one = EmbeddedBroker(folder / "1", port, REPLICATED | first)
        brokers = [running.enter_context(one)]
        formatted = (folder / "1" / "data" / "meta.properties").read_text().splitlines()
        [cluster_id] = [line for line in formatted if line.startswith("cluster.id=")]
        for number in (2, 3):
            format_disk(folder / str(number) / "data", number, cluster_id)
            other = {
                "process.roles": "broker",
                "node.id": str(number),
                "listeners": "PLAINTEXT://127.0.0.1:{port}",
            }
            properties = REPLICATED | first | other
            broker = EmbeddedBroker(folder / str(number), properties=properties)
            brokers.append(running.enter_context(broker))
        yield brokers


def format_disk(disk: Path, number: int, cluster_id: str) -> None:
    """Say on an empty disk whose it is, as `kafka-storage format` does."""
    disk.mkdir(parents=True)
    directory_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    (disk / "meta.properties").write_text(
        f"version=1\n{cluster_id}\nnode.id={number}\ndirectory.id={directory_id}\n"
    )


def await_in_sync(servers: str) -> None:
    """Return when each partition has all of its copies again."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})

    def lacking() -> list[str]:
        return [
            f"{topic}:{number}"
            for topic, about in admin.list_topics(timeout=30).topics.items()
            for number, partition in about.partitions.items()
            if len(partition.isrs) < len(partition.replicas)
        ]

    await_true(lambda: not lacking(), what=lambda: f"{lacking()} lack copies")


@pytest.mark.proves("F-01")
@pytest.mark.thorough
def test_one_broker_after_the_other_is_killed_and_comes_back(tmp_path: Path) -> None:
    """U-01: leaders, the transactions' coordinator and what copies a record move meanwhile."""
    with three_brokers(tmp_path / "kafka") as brokers:
        servers = ",".join(one.bootstrap_servers for one in brokers)
        deployment = Deployment(servers, "three", tmp_path / "d")
        client = Client(APPLICATION, servers, deployment.topics, PATIENT)
        with client, deployment.running() as service:
            with deployment.traffic(7, pause_s=2 * SELDOM_S):
                for number, broker in enumerate(brokers):
                    leave = broker.stop if number == 0 else broker.kill  # 0 is the one controller
                    leave()
                    sent = client.send(f"while-{number}-is-away", PLACE, expected_version=0)
                    assert sent.wait(WAIT_S).to_version == 1
                    broker.start()
                    await_in_sync(servers)
                    sent = client.send(f"after-{number}", PLACE, expected_version=0)
                    assert sent.wait(WAIT_S).to_version == 1
            deployment.await_quiet()
            deployment.await_read_side()
            assert service.poll() is None
        assert "Traceback" not in deployment.said()
        deployment.assert_as_the_model_says()
