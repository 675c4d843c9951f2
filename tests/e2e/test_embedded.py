"""A service with a broker of its own: no other user has access to both, and they end together."""

import os
import socket
import stat
import struct
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from tests.kit.service import VERDICT, Kept, Process, kept_process, start_process
from verdict.settings.discovery import running_kafka

pytestmark = pytest.mark.timeout(300)

# how each protocol begins without authentication
PY4J = b"c\nGATEWAY_SERVER\ngetPort\ne\n"
BODY = b"not a message that Spark knows"
SPARK = struct.pack(">qbqi", 21 + len(BODY), 3, 1, len(BODY)) + BODY  # a request, number 1


ENDS_S = 120
SMALL = {"VERDICT_PARTITIONS": "1", "VERDICT_SHARDS": "1"}  # it decides one command


class Listening(NamedTuple):
    """A port on which a process of the service takes connections."""

    process: str
    host: str
    port: int


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a service, which stands open from before.

    The capital keeps Python's workers from using sockets that are in it.
    """
    folder = tmp_path_factory.mktemp("private") / "Data"
    (folder / "older").mkdir(parents=True)
    (folder / "older" / "file").write_text("secret")
    for path, mode in ((folder, 0o777), (folder / "older", 0o755), (folder / "older/file", 0o644)):
        path.chmod(mode)
    return folder


@pytest.fixture(scope="module")
def stderr(data_dir: Path) -> Path:
    """Return the file with what the service says."""
    return data_dir.with_name("stderr")


@pytest.fixture(scope="module")
def kept_service(data_dir: Path, stderr: Path) -> Iterator[Kept]:
    """Return a service with a broker of its own; its user has umask 0."""

    def start() -> Process:
        with stderr.open("w") as said:
            command = [VERDICT, "up", "--data-dir", str(data_dir)]
            return start_process(command, os.environ | SMALL, stderr=said, umask=0)

    with kept_process(start, stderr.read_text) as found:
        yield found


@pytest.fixture(scope="module")
def placed(kept_service: Kept, data_dir: Path) -> str:
    """Return what was said of a command, once all have seen it."""
    kept_service.running()
    return place(data_dir, "--projection", "client_recent_order")


def place(data_dir: Path, *options: str) -> str:
    fields = ("client=ada", "ticker=A", "side=BUY", "quantity=1", "limit_price_cents=1")
    sent = subprocess.run(
        [
            VERDICT, "send", "order", "PlaceOrder", "--id", "o-1", "--command-id", "c-1",
            "--expected-version", "0", "--wait", "60", "--data-dir", str(data_dir), *options,
            *(word for field in fields for word in ("--field", field)),
        ],
        env=os.environ | SMALL, umask=0, text=True, capture_output=True,
    )  # fmt: skip
    assert sent.returncode == 0, sent.stderr
    return sent.stdout


@pytest.fixture
def service(kept_service: Kept, placed: str) -> psutil.Process:
    """Return the service, which has decided."""
    return psutil.Process(kept_service.running().pid)


@pytest.fixture
def ports(service: psutil.Process) -> list[Listening]:
    """Return where the service and its children listen."""
    found: list[Listening] = []
    for process in [service, *service.children(recursive=True)]:
        with suppress(psutil.Error):  # a Python worker that has just ended
            name = "broker" if "kafka.Kafka" in process.cmdline() else process.name()
            found += [
                Listening(name, one.laddr.ip.removeprefix("::ffff:"), one.laddr.port)
                for one in process.net_connections("inet")
                if one.status == psutil.CONN_LISTEN
            ]
    return found


@pytest.mark.proves("S-01")
def test_no_other_user_may_open_anything_in_the_data_directory(
    service: psutil.Process, data_dir: Path
) -> None:
    found = {data_dir: data_dir.lstat().st_mode}
    for folder, folders, files in os.walk(data_dir):
        for name in (*folders, *files):
            try:
                found[Path(folder, name)] = Path(folder, name).lstat().st_mode
            except FileNotFoundError:
                continue  # one that is only there for a moment
    opened = [
        f"{stat.filemode(mode)} {path.relative_to(data_dir)}"
        for path, mode in found.items()
        if mode & 0o077 and not stat.S_ISLNK(mode)
    ]
    kinds = {path.relative_to(data_dir).parts[0] for path in found if path != data_dir}

    assert opened == []
    assert {"broker", "decider", "lake", "spark", "verdict.db", "verdict.db-wal"} <= kinds
    assert (data_dir / "older" / "file").read_text() == "secret"


@pytest.mark.proves("S-01")
def test_every_port_is_this_machine_s_alone(ports: list[Listening]) -> None:
    assert {one.host for one in ports} == {"127.0.0.1"}
    # the listeners of Kafka; PySpark's callbacks; its gateway, Spark's messages and Spark's blocks
    assert sorted(one.process for one in ports if one.process != "verdict") == [
        "broker", "broker", "java", "java", "java",
    ]  # fmt: skip


@pytest.mark.proves("S-01")
def test_clients_without_authentication_are_refused_on_every_port(ports: list[Listening]) -> None:
    """But Kafka's and the page, which are for this machine and let all in: see GUARANTEES."""
    asked = [one for one in ports if one.process != "broker"]
    with ThreadPoolExecutor(2 * len(asked)) as strangers:  # who is silent is waited for
        answers = strangers.map(partial(_answer, said=PY4J), asked)
        refusals = [*strangers.map(partial(_answer, said=SPARK), asked)]
    obeying = [one for one, answer in zip(asked, answers, strict=True) if b"!y" in answer]

    assert obeying == [], "they take commands from anybody"
    assert sum(b"Sasl" in refusal for refusal in refusals) == 2, "messages and blocks of Spark"
    assert sum(refusal.startswith(b"HTTP/1.1 400") for refusal in refusals) == 1, "the page"
    others = [one for one in refusals if b"Sasl" not in one and not one.startswith(b"HTTP/1.1 400")]
    assert sum(refusal != b"" for refusal in others) <= 1


def _answer(to: Listening, said: bytes) -> bytes:
    """Return what a stranger is answered before the connection ends, or is silent."""
    with socket.create_connection((to.host, to.port), 5) as connection:
        connection.settimeout(3)
        connection.sendall(said)
        answer = b""
        try:
            while part := connection.recv(4096):
                answer += part
        except (TimeoutError, ConnectionError):
            pass
        return answer


@pytest.mark.usefixtures("service")
@pytest.mark.proves("C-14")
def test_the_broker_writes_to_the_disk_before_it_answers(data_dir: Path) -> None:
    servers = running_kafka(data_dir)
    assert servers is not None
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    topics = {name for name in admin.list_topics(timeout=30).topics if "order" in name}
    topics.add("__transaction_state")
    asked = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in topics]
    answers = {one.name: told.result(30) for one, told in admin.describe_configs(asked).items()}

    flushed_after = {name: config["flush.messages"].value for name, config in answers.items()}
    assert flushed_after == dict.fromkeys(topics, "1")


@pytest.mark.long
@pytest.mark.proves("F-04")
def test_the_service_stops_when_its_embedded_broker_dies(
    kept_service: Kept, placed: str, data_dir: Path, stderr: Path
) -> None:
    service = kept_service.running()
    children = psutil.Process(service.pid).children(recursive=True)
    jvms = [one for one in children if one.name() == "java"]
    [broker] = [one for one in jvms if "kafka.Kafka" in one.cmdline()]
    broker.kill()
    died = service.wait(ENDS_S)
    said = stderr.read_text()
    kept_service.running()

    assert died == 1
    assert "verdict: the embedded broker ended by itself" in said
    assert "Traceback" not in said
    assert "py4j" not in said
    assert place(data_dir).startswith(placed.strip())  # the same outcome, remembered
