"""Asks the executors of a cluster whether they see what the driver does, before they work for it.

Storage of the same name that is not shared is no error to Spark: each executor would keep a state
of its own. Nor is another version of the rules.
"""

import platform
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import SparkSession

from verdict.application import current
from verdict.errors import Unreachable, VerdictError

FILE = ".seen-by-all"
EXECUTOR_S = 60.0  # until the first one has come
LOOK_S = 0.2

Answer = Mapping[str, str]
"""What is asked → what was found."""


def see_that_executors_fit(
    session: SparkSession, shared: Path, of_at_least: int = 1, patience_s: float = EXECUTOR_S
) -> None:
    """Return when each executor that there is now sees `shared`, and runs what the driver runs.

    Args:
        session: On a cluster; every executor gets a task, as nothing else runs yet.
        shared: The folder that all machines must see.
        of_at_least: So many executors are waited for.
        patience_s: How many seconds they may take to come.

    Raises:
        Unreachable: No executor has come.
        VerdictError: One differs, or cannot answer; each difference is named.
    """
    _await(session, of_at_least, patience_s)
    shared.mkdir(parents=True, exist_ok=True)
    file, token = shared / FILE, str(uuid.uuid4())
    file.write_text(token)
    try:
        answers = _answers(session, file)
    finally:
        file.unlink(missing_ok=True)
    if differences := sorted({*differing(answer_of(token), answers, shared)}):
        raise VerdictError(
            f"executors of {session.sparkContext.master} do not fit: {'; '.join(differences)}; "
            "nothing was started"
        )


def answer_of(token: str) -> Answer:
    """Return what this process runs."""
    return {
        "Python": platform.python_version(),
        "verdict": version("verdict-cqrs"),
        "pyspark": version("pyspark"),
        "rules": current().handler_versions,
        "file": token,
    }


def differing(wanted: Answer, answers: Mapping[str, Answer], shared: Path) -> Iterator[str]:
    """Yield in words what differs.

    Args:
        wanted: What the driver says.
        answers: What executors say, by host.
        shared: The folder in which the driver wrote.
    """
    for host, found in answers.items():
        for what, ours in wanted.items():
            if found[what] == ours:
                continue
            if what == "file":
                yield f"{host} does not see what was written to {shared} (shared_dir)"
            else:
                yield f"{host} has {what} {found[what]}, the driver {ours}"


def _await(session: SparkSession, wanted: int, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while _executors(session) < wanted:
        if time.monotonic() > deadline:
            raise Unreachable(
                f"no executor of {session.sparkContext.master} has come in {patience_s:.0f} s: see "
                "whether it runs and has cores and memory left (executor.memory, cores.max in the "
                "table `spark`), and reaches this machine (driver.host)"
            )
        time.sleep(LOOK_S)


def _executors(session: SparkSession) -> int:
    """Return how many there are besides the driver."""
    return int(session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def _answers(session: SparkSession, file: Path) -> dict[str, Answer]:
    context = session.sparkContext
    tasks = context.defaultParallelism  # as many as run at a time: none is left out
    try:
        told = context.parallelize(range(tasks), tasks).map(lambda _: answer_here(file)).collect()
    except Exception as error:
        last = str(error).strip().splitlines()
        said = next((line for line in last if "Error" in line), last[0] if last else "")
        raise VerdictError(
            f"an executor of {context.master} cannot answer ({said.strip()[:300]}): install the "
            "same Python, packages and application there (pyspark.python in the table `spark`)"
        ) from error
    return dict(told)


def answer_here(file: Path) -> tuple[str, Answer]:
    """Return this host's name and what it sees and runs; called on an executor."""
    try:
        token = file.read_text()
    except OSError as error:
        token = type(error).__name__
    return socket.gethostname(), answer_of(token)
