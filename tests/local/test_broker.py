import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import VerdictError

TURKISH = {"JAVA_TOOL_OPTIONS": "-Duser.language=tr", "LC_ALL": "tr_TR.UTF-8"}

PARENT = """
import sys
from pathlib import Path
from verdict.adapters.local.broker import EmbeddedBroker

broker = EmbeddedBroker(Path(sys.argv[1]))
broker.start()
print(broker.process.pid, broker.bootstrap_servers, flush=True)
sys.stdin.read()
"""


def topics(servers: str) -> set[str]:
    return set(admin(servers).list_topics(timeout=10).topics)


def create_topic(servers: str, name: str, **config: str) -> None:
    topic = NewTopic(name, 1, 1, config={key.replace("_", "."): config[key] for key in config})
    client = admin(servers)  # held: a client that is collected takes its request with it
    client.create_topics([topic])[name].result(10)


def admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers, "log_level": 0})


class Parent(NamedTuple):
    """A process, its broker, and the broker's address."""

    process: "subprocess.Popen[bytes]"
    jvm: psutil.Process
    servers: str


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the brokers of this module run, one after the other."""
    return tmp_path_factory.mktemp("brokers ü, {port} %41 #")


@pytest.fixture
def parent(data_dir: Path) -> Iterator[Parent]:
    """Another process, in which a broker runs on `data_dir`."""
    command = [sys.executable, "-c", PARENT, str(data_dir)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | TURKISH
    ) as process:
        assert process.stdout is not None
        pid, servers = process.stdout.readline().decode().split()
        yield Parent(process, psutil.Process(int(pid)), servers)
        process.kill()


@pytest.mark.kafka
@pytest.mark.proves("F-04")
def test_a_broker_that_ends_by_itself_is_reported_and_keeps_what_was_written(
    data_dir: Path,
) -> None:
    with EmbeddedBroker(data_dir) as broker:
        address, guardian = broker.bootstrap_servers, broker._guardian
        create_topic(broker.bootstrap_servers, "kept")
        broker.check()

        broker.process.kill()

        assert guardian is not None
        guardian.wait(30)
        with pytest.raises(VerdictError, match=r"ended by itself with \d+: start again"):
            broker.check()
        with broker.log.open("a") as log:
            print("java.io.IOException: No space left on device", file=log)
        with pytest.raises(VerdictError, match=f"make room in {data_dir}, then start again"):
            broker.check()
        broker.kill()
        broker.start()
        assert broker.bootstrap_servers == address
        assert "kept" in topics(broker.bootstrap_servers)


@pytest.mark.kafka
def test_the_broker_ends_with_a_killed_parent_and_the_next_start_waits_for_that(
    data_dir: Path, parent: Parent
) -> None:
    create_topic(parent.servers, "kept-too")
    with socket.create_server(("127.0.0.1", 0)) as free:
        other_port = free.getsockname()[1]

    parent.process.kill()
    parent.process.wait()

    with EmbeddedBroker(data_dir, other_port) as next_broker:
        assert not parent.jvm.is_running()
        assert next_broker.bootstrap_servers == f"127.0.0.1:{other_port}" != parent.servers
        assert "kept-too" in topics(next_broker.bootstrap_servers)


def test_a_directory_has_one_broker_at_a_time(broker: EmbeddedBroker) -> None:
    with pytest.raises(
        VerdictError, match=f"broker directory {broker.data_dir} is in use by the process"
    ):
        EmbeddedBroker(broker.data_dir).start()

    assert broker.process.is_running()
    assert os.getsid(broker.process.pid) != os.getsid(0), "Ctrl-C in the terminal does not reach it"


def test_a_port_in_use_is_named(tmp_path: Path, broker: EmbeddedBroker) -> None:
    port = int(broker.bootstrap_servers.split(":")[1])

    with pytest.raises(VerdictError, match=f"port {port} cannot be used"):
        EmbeddedBroker(tmp_path, port).start()


@pytest.mark.kafka
def test_a_broker_that_dies_at_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=1\n")  # and no more

    with pytest.raises(VerdictError, match=r"died at start(.|\n)*Failed to find node.id"):
        EmbeddedBroker(tmp_path).start()


def test_the_port_of_the_last_start_is_kept_while_it_is_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        last = taken.getsockname()[1]
        listeners = f"listeners=PLAINTEXT://127.0.0.1:{last},CONTROLLER://127.0.0.1:1"
        (tmp_path / "server.properties").write_text(f"node.id=1\n{listeners}\n")

        assert EmbeddedBroker(tmp_path)._ports()[0] != last

    assert EmbeddedBroker(tmp_path)._ports()[0] == last
