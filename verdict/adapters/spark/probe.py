"""Asks the executors of a cluster at the start whether they see and run what the driver does.

Spark does not notice when storage of the same name is not shared: each executor would keep a state
of its own. Nor does it notice another version of the rules.
"""

import os
import platform
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pyspark.sql import SparkSession

from verdict.adapters.spark.pools import own_pool
from verdict.errors import UnreachableError, VerdictError
from verdict.model.application import Application

FILE = ".seen-by-all"
EXECUTOR_S = 60.0  # until the first one has come, and all that have come have answered
SETTLED_S = 1.0  # without another one: those that start together come one after the other
HOLD_S = 0.3  # that a task keeps its slot, so that the next one goes to another
LOOK_S = 0.2
CHECK_S = 2.0
PACKAGES = ("verdict-cqrs", "pyspark", "pyarrow", "pandas", "lmdb", "fastavro", "pydantic")

Answer = Mapping[str, str]
"""What is asked → what was found."""
Executor = tuple[str, str]
"""Its host, and the folders that it has there for itself."""


class Executors:
    """Those of a cluster that work for this process.

    Args:
        session: On the cluster.
        shared: The folder that all machines must see.
        application: Whose rules they run.

    Attributes:
        missing: That none is there, and what to look at; None while one is.
    """

    def __init__(self, session: SparkSession, shared: Path, application: Application) -> None:
        self.missing: str | None = None
        self._application = application
        self._session = session
        self._master = session.sparkContext.master
        self._shared = shared
        self._heard: set[Executor] = set()
        self._look_at = 0.0

    def await_fitting(self, patience_s: float = EXECUTOR_S) -> None:
        """Return when some are there, and each sees `shared` and runs what the driver runs.

        Raises:
            UnreachableError: None has come.
            VerdictError: One differs, or does not answer; each difference is named.
        """
        self._await(patience_s)
        deadline = time.monotonic() + patience_s
        while not self.ask():
            if time.monotonic() > deadline:
                raise VerdictError(
                    f"only {len(self._heard)} of {len(self._there())} executors of {self._master} "
                    f"answered in {patience_s:.0f} s: see what the others do; nothing was started"
                )

    def check(self) -> None:
        """Update `missing`; executors that join later are not asked what they run."""
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + CHECK_S
            self.missing = None if self._there() else self._none()

    def ask(self) -> bool:
        """Return whether each that is there now has answered as the driver would.

        Raises:
            VerdictError: One differs, or cannot answer.
        """
        there = self._there()
        self._heard |= self._answers().keys()
        return len(self._heard) >= len(there)  # else one had no slot free

    def _await(self, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        there, since = self._there(), time.monotonic()
        while not there or time.monotonic() - since < SETTLED_S:
            if time.monotonic() > deadline:
                raise UnreachableError(f"{self._none()}; none has come in {patience_s:.0f} s")
            time.sleep(LOOK_S)
            if (now := self._there()) != there:
                there, since = now, time.monotonic()

    def _none(self) -> str:
        return (
            f"no executor of {self._master} is there: see whether it runs and has cores and memory "
            "left (executor.memory, cores.max in the table `spark`), and reaches this machine "
            "(driver.host)"
        )

    def _there(self) -> frozenset[str]:
        """Return the numbers of those that are registered; a call to the JVM of a millisecond."""
        listed = self._session.sparkContext._jsc.sc().getExecutorIds().mkString(" ")
        return frozenset(listed.split())

    def _answers(self) -> Mapping[Executor, Answer]:
        self._shared.mkdir(parents=True, exist_ok=True)
        token = str(uuid.uuid4())
        file = self._shared / f"{FILE}-{token}"  # other roles ask at the same time
        file.write_text(token)
        try:
            answers = self._told(file)
        finally:
            file.unlink(missing_ok=True)
        if differences := sorted(
            {*differing(answer_of(self._application, token), answers, self._shared)}
        ):
            raise VerdictError(f"executors of {self._master} do not fit: {'; '.join(differences)}")
        return answers

    def _told(self, file: Path) -> dict[Executor, Answer]:
        context, application = self._session.sparkContext, self._application
        tasks = context.defaultParallelism  # as many as run at a time
        try:
            with own_pool(self._session, "probe"):
                asked = context.parallelize(range(tasks), tasks)
                return dict(asked.map(lambda _: answer_here(application, file)).collect())
        except Exception as error:
            last = str(error).strip().splitlines()
            said = next((line for line in last if "Error" in line), last[0] if last else "")
            raise VerdictError(
                f"an executor of {context.master} cannot answer ({said.strip()[:300]}): install "
                "the same Python, packages and application there (pyspark.python in the table "
                "`spark`)"
            ) from error


def answer_of(application: Application, token: str) -> Answer:
    """Return what this process runs."""
    return {
        "Python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
        "rules": f"{application.name} {application.handler_versions}",
        "file": token,
    }


def differing(wanted: Answer, answers: Mapping[Executor, Answer], shared: Path) -> Iterator[str]:
    """Yield in words what differs."""
    for (host, _), found in answers.items():
        for what, ours in wanted.items():
            if found.get(what) == ours:
                continue
            if what == "file":
                yield f"{host} does not see what was written to {shared} (shared_dir)"
            else:
                yield f"{host} has {what} {found.get(what)}, the driver {ours}"


def answer_here(application: Application, file: Path) -> tuple[Executor, Answer]:
    """Return which executor this is, and what it sees and runs; called there."""
    try:
        token = file.read_text()
    except OSError as error:
        token = type(error).__name__
    answer = answer_of(application, token)
    time.sleep(HOLD_S)
    return (socket.gethostname(), os.environ.get("SPARK_LOCAL_DIRS", "")), answer


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
