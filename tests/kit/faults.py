"""What can go wrong around a service, done on purpose and without root."""

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from commands.order import ModifyOrder
from tests.application import APPLICATION
from tests.kit.deployment import await_true
from tests.kit.service import PLACE, SELDOM_S, WAIT_S, Deployment, Process, stop
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.client.client import Client
from verdict.model.command_envelope import Expectation

STOPS_S = 240
SMALL_DISK_MIB = 400
RUNNER = "verdict.service.runner_process"
OPEN_FILES, FILE_SIZE = resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE
PATIENT = {"delivery.timeout.ms": "900000"}  # a sender that outlasts an outage


@contextmanager
def paused(broker: EmbeddedBroker) -> Iterator[None]:
    """Let the broker keep its connections and answer nothing, as behind a broken network."""
    broker.process.suspend()
    try:
        yield
    finally:
        broker.process.resume()


def pause(service: Process | psutil.Popen) -> Callable[[], None]:
    """Stop a process and all that it has started, and return what lets them go on."""
    root = psutil.Process(service.pid)
    stopped: list[psutil.Process] = []
    # looked for again: one that was not stopped yet may have started another
    while running := [one for one in (root, *root.children(recursive=True)) if one not in stopped]:
        signal_all(running, signal.SIGSTOP)
        stopped += running
    return lambda: signal_all(reversed(stopped), signal.SIGCONT)


def signal_all(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to those that still live."""
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            one.send_signal(number)


def await_stopped(service: Process) -> None:
    """Return when the process has stopped itself."""
    _, status = os.waitpid(service.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"it ended instead: {status}"


def spark_jvm(pid: int) -> psutil.Process:
    """Return the JVM of Spark that process `pid` started."""
    children = psutil.Process(pid).children(recursive=True)
    return next(child for child in children if "SparkSubmit" in " ".join(child.cmdline()))


def runner_process(pid: int) -> psutil.Process:
    """Return a process of projections that process `pid` started."""
    children = psutil.Process(pid).children()
    return next(child for child in children if RUNNER in child.cmdline())


def starve(service: Process, what: int, most: int) -> None:
    """Let the JVM and the Python workers of a service have no more than `most` from now on.

    With `FILE_SIZE` every write beyond that many bytes of a file fails, as on a full disk, though
    with another error. The service itself can still write what is wrong.
    """
    for process in psutil.Process(service.pid).children(recursive=True):
        _, hard = resource.prlimit(process.pid, what)
        resource.prlimit(process.pid, what, (most, hard))


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """Put `folder` on a disk of its own and return the file to fill it with, see `fill`.

    None where only root may do that and we are not: then `starve` is what comes nearest.
    """
    folder.mkdir()
    size = f"size={SMALL_DISK_MIB}m"
    mount = ["mount", "-t", "tmpfs", "-o", size, "verdict-test", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        yield None
        return
    try:
        yield folder / "everything else"
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(filler: Path) -> None:
    """Leave no byte on the disk of `filler`; remove the file to make room again."""
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 10, 1):
            with suppress(OSError):
                while file.write(bytes(size)) == size:
                    pass


def last_words(deployment: Deployment, service: Process) -> str:
    """Return the line with which a service that stopped by itself said why."""
    assert service.wait(STOPS_S) != 0
    said = deployment.said()
    assert "Traceback" not in said, said
    return said.rpartition("verdict: ")[2]


def settle(deployment: Deployment, service: Process) -> None:
    """Stop a service that Kafka had left, once it has gone on to every outcome.

    Of what was sent by now: in a campaign others go on sending.
    """
    deployment.await_outcomes(len(deployment.commands()))
    assert service.poll() is None, deployment.said()
    stop(service)


def outlive(
    deployment: Deployment,
    service: Process,
    order: str,
    seconds: float,
    outage: tuple[Callable[[], None], Callable[[], None]],
) -> None:
    """Let Kafka be away for so long, with commands under way and a sender that waits.

    `order` names a new order. `outage` takes Kafka away, and brings it back, for the service; the
    traffic of the deployment may reach it by another address.
    """
    leave, come_back = outage
    servers = deployment.environment["VERDICT_BOOTSTRAP_SERVERS"]
    with Client(APPLICATION, servers, deployment.topics, PATIENT) as client:
        client.send(order, PLACE, expected_version=0).wait(WAIT_S)
        with deployment.traffic(seed=len(order), pause_s=2 * SELDOM_S):
            leave()
            back = time.monotonic() + seconds
            waiting = client.send(order, ModifyOrder(quantity=5), Expectation.EXISTS)
            await_said(deployment, "is away since")  # until then, status would wait for Kafka
            await_true(lambda: "Kafka is away since" in _problems(deployment))
            time.sleep(max(0.0, back - time.monotonic()))
            assert service.poll() is None
            come_back()
            assert waiting.wait(WAIT_S).to_version == 2
    deployment.await_quiet()

    assert service.poll() is None
    await_said(deployment, f"Kafka at {servers} is back after")  # who looks may come last
    said = deployment.said()
    assert "Traceback" not in said
    assert f"Kafka at {servers} is away since" in said


def await_said(deployment: Deployment, words: str) -> None:
    """Return when the service has written that to its log."""
    await_true(lambda: words in deployment.said(), what=deployment.said)


def _problems(deployment: Deployment) -> str:
    asked = deployment.cli("status", "--json")
    assert asked.returncode == 5
    return " ".join(json.loads(asked.stdout)["problems"])
