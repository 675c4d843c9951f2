"""What can go wrong around a service, done on purpose and without root."""

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.e2e.deployment import Deployment, stop
from verdict.adapters.local.broker import EmbeddedBroker

STOPS_S = 240
SMALL_DISK_MIB = 400

OPEN_FILES, FILE_SIZE = resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE


@contextmanager
def paused(broker: EmbeddedBroker) -> Iterator[None]:
    """Let the broker keep its connections and answer nothing, as behind a broken network."""
    process = psutil.Process(int((broker.data_dir / "broker.pid").read_text()))
    process.suspend()
    try:
        yield
    finally:
        process.resume()


def starve(service: "subprocess.Popen[str]", what: int, most: int) -> None:
    """Let the JVM and the Python workers of a service have no more than `most` from now on.

    With `FILE_SIZE` every write beyond that many bytes of a file fails, as on a full disk, though
    with another error. The service itself goes on to write, so that it can be heard.
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


def last_words(deployment: Deployment, service: "subprocess.Popen[str]") -> str:
    """Return the line with which a service that stopped by itself said why."""
    assert service.wait(STOPS_S) != 0
    said = deployment.said()
    assert "Traceback" not in said, said
    return said.rpartition("verdict: ")[2]


def settle(deployment: Deployment, service: "subprocess.Popen[str]") -> None:
    """Stop a service that Kafka had left, once it has gone on to every outcome.

    Of what was sent by now: in a campaign others go on sending.
    """
    deployment.await_outcomes(len(deployment.commands()))
    assert service.poll() is None, deployment.said()
    stop(service)
