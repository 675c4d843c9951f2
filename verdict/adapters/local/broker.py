"""The embedded Kafka: broker and controller in one JVM, which ends with its parent."""

import base64
import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from verdict.adapters.local import permissions
from verdict.adapters.local.class_data_sharing import class_archive, is_recording
from verdict.adapters.local.jars import broker_classpath, last_lines
from verdict.adapters.local.java import ENGLISH, LOCALE, find_java
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.errors import FULL_DISK, TimedOutError, VerdictError

HERE = Path(__file__).parent
READY_S = 60
GRACE_S = 10
RECORDING_S = 120  # a JVM writes its class archive at its end
LISTENER = re.compile(r"^listeners=PLAINTEXT://127\.0\.0\.1:(\d+)", re.MULTILINE)

JVM_OPTIONS = (
    *ENGLISH,
    "-Xms48m",
    "-Xmx512m",
    "-XX:+ExitOnOutOfMemoryError",  # else only a thread ends, and its clients wait forever
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # the better compiler would take minutes of processor time
    "-Djava.awt.headless=true",
)

# The voters are static, so that a data directory may be reused with another port. The cleaner's
# buffer is 128 MB by default, too much for a small heap. After a crash the broker has to wait for
# the end of its old session. An idle controller writes a record twice a second by default. The
# folder is relative to the JVM's own: Java reads the file as Latin-1, and splits at commas.
LOGS = "data"
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=data
log.segment.bytes=16777216
log.cleaner.dedupe.buffer.size=2097152
auto.create.topics.enable=false
metadata.max.idle.interval.ms=10000
broker.heartbeat.interval.ms=1000
broker.session.timeout.ms=3000
num.network.threads=2
num.io.threads=2
group.coordinator.threads=1
share.coordinator.threads=1
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""

# Kafka acknowledges a record or transaction when the operating system has it; with this, when the
# disk has it.
FLUSHED = {"log.flush.interval.messages": "1"}


class EmbeddedBroker:
    """Kafka on a data directory, from `start` to `stop`; a context manager.

    It ends with this process, SIGKILL included; Ctrl-C in the terminal does not reach it. It holds
    the lock of its directory: `start` waits until the broker of a killed process has ended.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Choose the directory, and perhaps a port and more settings of Kafka."""
        self.data_dir = data_dir.absolute()
        self.log = self.data_dir / "broker.log"
        self._port = port
        self._more = dict(properties or {})
        self._lock: DataDirectoryLock | None = None
        self._guardian: subprocess.Popen[bytes] | None = None
        self._process: psutil.Process | None = None
        self._log_start = 0

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients, the same after a restart of this object."""
        if self._port is None:
            raise VerdictError("the embedded broker has no address before its first start")
        return f"127.0.0.1:{self._port}"

    @property
    def process(self) -> psutil.Process:
        """The broker's JVM, after the start."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start the broker and return when it answers; errors have the last lines of its log."""
        permissions.close(self.data_dir)
        java = _java()
        self._lock = DataDirectoryLock(self.data_dir, "broker directory")
        try:
            self._port, controller_port = self._ports()
            self._write_properties(controller_port)
            self._format(java)
            self._launch(java, self._lock)
            self._await_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the broker, by force after 10 s; without one nothing happens."""
        if self._guardian is not None:
            self._guardian.communicate()  # closes its stdin, which asks for the end
            self._guardian = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def check(self) -> None:
        """Return while the broker runs."""
        if self._guardian is not None and (code := self._guardian.poll()) is not None:
            said = self._last_lines()
            room = f"make room in {self.data_dir}, then " if re.search(FULL_DISK, said) else ""
            raise VerdictError(
                f"the embedded broker ended by itself with {code}: {room}start again, what it had "
                f"acknowledged is kept; {said}"
            )

    def kill(self) -> None:
        """End the broker as a crash would, by SIGKILL; `start` brings it back."""
        with contextlib.suppress(psutil.NoSuchProcess):  # it was faster
            self.process.kill()
        self.stop()

    def __enter__(self) -> "EmbeddedBroker":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _ports(self) -> tuple[int, int]:
        """Return the port that was asked for, else the one of the last start if it is free."""
        said = self._properties.read_text() if self._properties.exists() else ""
        if self._port is None and (last := LISTENER.search(said)):
            with contextlib.suppress(VerdictError):
                return _free_ports(int(last[1]))
        return _free_ports(self._port)

    @property
    def _properties(self) -> Path:
        return self.data_dir / "server.properties"

    def _format(self, java: list[str]) -> None:
        """Make an empty log, unless one is there; the tool writes this file last."""
        if (self.data_dir / LOGS / "meta.properties").exists():
            return
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}"]
        answer = subprocess.run(
            [*java, *tool, "--config", str(self._properties)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.data_dir,
            env=os.environ | LOCALE,
        )
        if answer.returncode != 0:
            raise VerdictError(
                f"cannot prepare {self.data_dir} for Kafka:\n{last_lines(answer.stdout)}"
            )

    def _write_properties(self, controller_port: int) -> None:
        ours = dict(line.split("=", 1) for line in PROPERTIES.splitlines())
        text = "".join(f"{name}={value}\n" for name, value in (ours | self._more).items())
        self._properties.write_text(text.format(port=self._port, controller_port=controller_port))

    def _launch(self, java: list[str], lock: DataDirectoryLock) -> None:
        grace_s = RECORDING_S if is_recording() else GRACE_S
        guardian = [sys.executable, "-I", "-S", str(HERE / "process_guardian.py"), str(grace_s)]
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self._guardian = subprocess.Popen(
                [*guardian, *java, "kafka.Kafka", str(self._properties)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                cwd=self.data_dir,
                env=os.environ | LOCALE,
                pass_fds=[lock.fileno()],
            )
        assert self._guardian.stdout is not None
        with contextlib.suppress(ValueError, psutil.NoSuchProcess):  # `_await_ready` reports it
            self._process = psutil.Process(int(self._guardian.stdout.readline()))

    def _await_ready(self) -> None:
        assert self._guardian is not None
        address = {"bootstrap.servers": self.bootstrap_servers}
        admin = AdminClient(address | {"log_level": 0, "reconnect.backoff.max.ms": 200})
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            if self._guardian.poll() is not None:
                raise VerdictError(
                    f"the embedded broker died at start; {self._last_lines()}; where a file of it "
                    "is missing or damaged, bring its folder back as it was"
                )
            with contextlib.suppress(KafkaException):
                if admin.list_topics(timeout=1).brokers:
                    return
        raise TimedOutError(
            f"the embedded broker does not answer after {READY_S} s; {self._last_lines()}"
        )

    def _last_lines(self) -> str:
        with self.log.open(errors="replace") as log:
            log.seek(self._log_start)
            return f"the end of {self.log}:\n{last_lines(log.read())}"


def _java() -> list[str]:
    java, class_path = find_java(), broker_classpath()
    logging = f"-Dlog4j2.configurationFile={(HERE / 'quiet.log4j2.xml').as_uri()}"
    archive = class_archive("broker", java, [Path(class_path).parent])
    return [str(java), *JVM_OPTIONS, *archive, logging, "-cp", class_path]


def _free_ports(wanted: int | None) -> tuple[int, int]:
    """Return two free ports, the first as `wanted` if that is given."""
    try:
        with (
            socket.create_server(("127.0.0.1", wanted or 0)) as first,
            socket.create_server(("127.0.0.1", 0)) as second,
        ):
            return first.getsockname()[1], second.getsockname()[1]
    except OSError as error:
        raise VerdictError(
            f"port {wanted} cannot be used for Kafka ({error.strerror}): "
            "stop what uses it, or choose another one"
        ) from error
