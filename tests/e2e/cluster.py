"""A Spark cluster of processes: a standalone master, and workers that start executors.

Each worker is in a mount namespace of its own, where folders of the driver are empty: a cluster on
one disk would pass with storage that is not shared.
"""

import os
import shlex
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pyspark

from tests.kit.deployment import await_true
from tests.ports import free_ports
from verdict.adapters.local.java import find_java
from verdict.testing.service import end_with_all_they_started

SPARK_HOME = Path(pyspark.__file__).parent
HERE = "127.0.0.1"
DEPLOY = "org.apache.spark.deploy"


class Cluster:
    """A master, and the workers that were added to it."""

    def __init__(
        self, held: ExitStack, folder: Path, environment: Mapping[str, str], hidden: Sequence[Path]
    ) -> None:
        [port] = free_ports(1)
        self.url = f"spark://{HERE}:{port}"
        self._held = held
        self._folder = folder
        self._environment = environment
        self._hidden = hidden
        self._workers = 0
        self._start("master", {}, [], f"{DEPLOY}.master.Master", "--port", str(port))
        _await_listening(port)

    def worker(self) -> psutil.Popen:
        """Add a worker of one core.

        It registers in its own time; what it is given to do runs in processes that it starts.
        """
        self._workers += 1
        name = f"worker-{self._workers}"
        size = ["--cores", "1", "--memory", "2g", "--work-dir", str(self._folder / name / "work")]
        return self._start(
            name,
            self._environment,
            _in_a_namespace(self._hidden),
            f"{DEPLOY}.worker.Worker",
            *size,
            self.url,
        )

    def _start(
        self,
        name: str,
        environment: Mapping[str, str],
        inside: Sequence[str],
        main: str,
        *arguments: str,
    ) -> psutil.Popen:
        folder = self._folder / name
        (folder / "local").mkdir(parents=True)
        java = [str(find_java()), "-Xmx256m", "-XX:+UseSerialGC", "-cp", f"{SPARK_HOME / 'jars'}/*"]
        with (folder / "log").open("wb") as log:
            started = psutil.Popen(
                [*inside, *java, main, "--host", HERE, "--webui-port", "0", *arguments],
                env={**_known(folder), **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._held.callback(end_with_all_they_started, started)
        return started


@contextmanager
def cluster(
    folder: Path, environment: Mapping[str, str], hidden: Sequence[Path] = ()
) -> Iterator[Cluster]:
    """Give a cluster without a worker; all of it ends with what it has started."""
    for each in hidden:
        each.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        yield Cluster(held, folder, environment, hidden)


def _in_a_namespace(hidden: Sequence[Path]) -> list[str]:
    mounts = [f"mount -t tmpfs none {shlex.quote(str(each))}" for each in hidden]
    as_root = [] if os.getuid() == 0 else ["--map-root-user"]
    inside = " && ".join([*mounts, 'exec "$@"'])
    return ["unshare", *as_root, "-m", "--propagation", "private", "sh", "-c", inside, "sh"]


def _known(folder: Path) -> dict[str, str]:
    known = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return known | {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": HERE,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }


def _await_listening(port: int) -> None:
    def listens() -> bool:
        with socket.socket() as one:
            return one.connect_ex((HERE, port)) == 0

    await_true(listens, what="the master does not listen")
