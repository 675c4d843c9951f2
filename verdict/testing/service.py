"""A whole service in a process of its own, for tests that need one."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from shlex import join

import psutil

from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.settings import IVY_SETTINGS
from verdict.settings.application_loader import path_of
from verdict.settings.load import PREFIX, settings_alone

VERDICT = str(Path(sys.executable).with_name("verdict"))
READY = re.compile(r"ready: Kafka (\S+),")
STOPS_S = 120.0
GRACE_S = 10.0  # to remove what is outside of its directory
PROCESSES_END_S = 15.0
LAST_WORDS = 5  # lines of the log


class Service:
    """`verdict up` with Kafka, Spark and SQLite in a process of its own; starting takes a while.

    No setting comes from the environment or a `verdict.toml`, which may name a real Kafka.

        with Service(app, tmp_path) as service, Client(app, service.bootstrap_servers) as client:
            client.send("order-1", placed, expected_version=0).wait(timeout_s=60)
            for _ in wait_until_idle(service.settings):
                pass
            print(service.verb("sql", "SELECT * FROM us_holder").stdout)

    At the end of the block it finishes its work; after an error it has a few seconds for that.
    None of its processes survives.

    Args:
        application: The application; the process imports it by name.
        data_dir: The data directory, which stays; the log is `up.log` in it.
        settings: Settings by name; there is no page unless `page` is true.
    """

    def __init__(self, application: Application, data_dir: Path, **settings: str | int) -> None:
        settings = {"page": False} | settings
        self.settings = settings_alone(application, data_dir=data_dir.absolute(), **settings)
        self.ready = ""
        self._up: psutil.Popen | None = None
        self._log = self.settings.data_dir / "up.log"
        named = {f"{PREFIX}{name.upper()}": str(value) for name, value in settings.items()}
        named[f"{PREFIX}DATA_DIR"] = str(self.settings.data_dir)
        self._environment = _environment(path_of(application), named)

    def __enter__(self) -> "Service":
        """Return when it accepts commands: it has printed `ready`.

        Raises:
            VerdictError: It has ended instead.
        """
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    @property
    def bootstrap_servers(self) -> str:
        """Its Kafka, `host:port`."""
        [servers] = READY.findall(self.ready)
        return str(servers)

    def check(self) -> None:
        """Raise unless it runs.

        Raises:
            VerdictError: It has ended; the message has the end of its log.
        """
        if self._up is not None and (code := self._up.poll()) is not None:
            said = self._log.read_text(errors="replace").splitlines()[-LAST_WORDS:]
            raise VerdictError(f"`verdict up` has ended with {code}: {' '.join(said)}")

    def verb(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a verb, such as `verb("sql", "SELECT …")`, and return its output.

        Args:
            arguments: As on the command line.
            check: Raise if the exit code is not 0.

        Raises:
            VerdictError: It failed; the message has its output.
        """
        said = subprocess.run(
            [VERDICT, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self._environment,
            cwd=self.settings.data_dir,
            text=True,
            check=False,
        )
        if check and said.returncode:
            raise VerdictError(f"`verdict {join(arguments)}` failed: {said.stderr.strip()}")
        return said

    def _start(self) -> None:
        self.settings.data_dir.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            self._up = psutil.Popen(
                [VERDICT, "up"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
                cwd=self.settings.data_dir,
                start_new_session=True,  # so Ctrl-C does not reach it
                text=True,
            )
        self.ready = self._up.stdout.readline().rstrip()
        if not self.ready:  # then it has ended
            self._up.wait()
            self.check()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._up is None:
            return
        started = _with_children(self._up)
        try:
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended already
                self._up.terminate()
            with contextlib.suppress(psutil.TimeoutExpired):
                self._up.wait(GRACE_S if error else STOPS_S)
        finally:
            self._end(started)

    def _end(self, started: Iterable[psutil.Process] = ()) -> None:
        if self._up is not None:
            end_with_all_they_started(self._up, *started)
            self._up.stdout.close()


def end_with_all_they_started(*processes: psutil.Process) -> None:
    """Kill processes and their descendants; return when all have ended."""
    found: set[psutil.Process] = set()
    while new := {one for each in processes for one in _with_children(each)} - found:
        found |= new
        for one in new:  # a stopped process starts no other
            with contextlib.suppress(psutil.NoSuchProcess):
                one.suspend()
    for one in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs([*found], PROCESSES_END_S)


def _with_children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _environment(path: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which verbs have these settings and find the application."""
    foreign = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(PREFIX) or name == IVY_SETTINGS
    }
    here = os.pathsep.join(folder or str(Path.cwd()) for folder in sys.path)
    return foreign | {f"{PREFIX}APP": path, "PYTHONPATH": here, **settings}
