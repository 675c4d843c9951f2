"""A Spark cluster of processes: a standalone master, and a worker that starts executors."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pyspark

from tests.e2e.secured.broker import free_ports
from verdict.local.java import find_java
from verdict.testing.service import end_with_all_they_started

SPARK_HOME = Path(pyspark.__file__).parent
HERE = "127.0.0.1"
READY_S = 60
DEPLOY = "org.apache.spark.deploy"


@contextmanager
def cluster(folder: Path, environment: dict[str, str], cores: int = 2) -> Iterator[str]:
    """Give the URL of a master with one worker; both end with all that they have started.

    Args:
        folder: Takes what they write.
        environment: Of the worker and its executors, besides what Spark needs: one image has it.
        cores: Of the worker.
    """
    [port] = free_ports(1)
    url = f"spark://{HERE}:{port}"
    address = ["--host", HERE, "--webui-port", "0"]
    sizes = ["--cores", str(cores), "--memory", "2g", "--work-dir", str(folder / "work")]
    (folder / "local").mkdir(parents=True)
    with ExitStack() as held:
        _start(held, folder, {}, f"{DEPLOY}.master.Master", *address, "--port", str(port))
        _await_listening(port)
        _start(held, folder, environment, f"{DEPLOY}.worker.Worker", *address, *sizes, url)
        yield url


def _start(
    held: ExitStack, folder: Path, environment: dict[str, str], main: str, *arguments: str
) -> None:
    java = [str(find_java()), "-Xmx256m", "-XX:+UseSerialGC", "-cp", f"{SPARK_HOME / 'jars'}/*"]
    known = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    of_spark = {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": HERE,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }
    with (folder / f"{main}.log").open("wb") as log:
        started = psutil.Popen(
            [*java, main, *arguments],
            env=known | of_spark | environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    held.callback(end_with_all_they_started, started)


def _await_listening(port: int) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        with socket.socket() as one:
            if one.connect_ex((HERE, port)) == 0:
                return
        assert time.monotonic() < deadline, "the master does not listen"
        time.sleep(0.1)
