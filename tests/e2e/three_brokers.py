"""A Kafka of three brokers, each with a JVM, a port and a disk of its own."""

import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient

from tests.kit.deployment import await_true
from tests.ports import free_ports
from verdict.adapters.local.broker import EmbeddedBroker

COPIES, IN_SYNC = 3, 2
REPLICATED = {
    "default.replication.factor": str(COPIES),
    "min.insync.replicas": str(IN_SYNC),
    "offsets.topic.replication.factor": str(COPIES),
    "transaction.state.log.replication.factor": str(COPIES),
    "transaction.state.log.min.isr": str(IN_SYNC),
}


class ThreeBrokers:
    """Every topic has three copies, and what is acknowledged is in two of them at least.

    The first one is the controller too.
    """

    def __init__(self, brokers: list[EmbeddedBroker]) -> None:
        self.brokers = brokers
        self.bootstrap_servers = ",".join(one.bootstrap_servers for one in brokers)

    def await_in_sync(self) -> None:
        """Return when each partition has all of its copies again."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})

        def lacking() -> list[str]:
            return [
                f"{topic}:{number}"
                for topic, about in admin.list_topics(timeout=30).topics.items()
                for number, partition in about.partitions.items()
                if len(partition.isrs) < len(partition.replicas)
            ]

        await_true(lambda: not lacking(), what=lambda: f"{lacking()} lack copies")


@contextmanager
def three_brokers(folder: Path) -> Iterator[ThreeBrokers]:
    """Run them; all end with the block."""
    port, controller = free_ports(2)
    first = {
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{controller}",
    }
    with ExitStack() as running:
        one = EmbeddedBroker(folder / "1", port, REPLICATED | first)
        brokers = [running.enter_context(one)]
        cluster_id = _property(folder / "1", "cluster.id")
        for number in (2, 3):
            _format(folder / str(number), number, cluster_id)
            other = {
                "process.roles": "broker",
                "node.id": str(number),
                "listeners": "PLAINTEXT://127.0.0.1:{port}",
            }
            properties = REPLICATED | first | other
            broker = EmbeddedBroker(folder / str(number), properties=properties)
            brokers.append(running.enter_context(broker))
        yield ThreeBrokers(brokers)


def _format(folder: Path, number: int, cluster_id: str) -> None:
    """Say on an empty disk whose it is, as `kafka-storage format` does."""
    disk = folder / "data"
    disk.mkdir(parents=True)
    directory_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    (disk / "meta.properties").write_text(
        f"version=1\ncluster.id={cluster_id}\nnode.id={number}\ndirectory.id={directory_id}\n"
    )


def _property(folder: Path, name: str) -> str:
    lines = (folder / "data" / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)[name]
