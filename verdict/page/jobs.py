"""Long work on read models, each in a process of its own: built, compared, put in place.

Two sessions of Spark in one process would be one, and who ends a rebuild must not end the service.
"""

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock, Thread
from typing import Any

from verdict.configuration.loading import settings_alone
from verdict.configuration.settings import Settings
from verdict.errors import VerdictError
from verdict.model.application import Application

SPAWN = multiprocessing.get_context("spawn")  # a fork would have locks of threads that it has not
PATIENCE_S = 10.0


class Busy(VerdictError):
    """Something is being done with this read model already."""


class Action(StrEnum):
    """What can be done with a read model."""

    REBUILD = "rebuild"
    VERIFY = "verify"
    SWAP = "swap"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class Job:
    """What is done with a read model, how far it is, and whether it ended and how."""

    action: Action
    said: str
    ended: bool = False
    failed: bool = False


def work(
    application: Application,
    chosen: dict[str, Any],
    name: str,
    action: Action,
    accept_differences: bool,
    pipe: Connection,
) -> None:
    """Do what was asked for, in a process of its own; tell how far it is, and how it ended."""
    settings = settings_alone(application, **chosen)
    try:
        said, well = _done(settings, name, action, accept_differences, _telling(action, pipe))
    except VerdictError as error:
        said, well = str(error), False
    pipe.send(Job(action, said, ended=True, failed=not well))


def _done(
    settings: Settings,
    name: str,
    action: Action,
    accept_differences: bool,
    tell: Callable[[str], None],
) -> tuple[str, bool]:
    """Do it; return what came of it, and whether it is what one would wish."""
    from verdict.read_models.versions import told  # they load Spark, which the page does not
    from verdict.read_models.versions.rebuilder import Rebuilder

    rebuilder = Rebuilder(settings, name, tell)
    match action:
        case Action.REBUILD:
            return told.built(rebuilder.rebuild()), True
        case Action.VERIFY:
            verified = rebuilder.verify()
            return told.compared(verified), verified.equal
        case Action.SWAP:
            return told.put_in_place(rebuilder.swap(accept_differences)), True
        case Action.ROLLBACK:
            return told.put_in_place(rebuilder.rollback(), "again"), True


def _telling(action: Action, pipe: Connection) -> Callable[[str], None]:
    return lambda said: pipe.send(Job(action, said))


class Jobs:
    """What people had done with read models since the page runs, the newest of each.

    Args:
        settings: Of the deployment.
        do: What a process does; tests give it less to do.
    """

    def __init__(self, settings: Settings, do: Callable[..., None] = work) -> None:
        self._settings = settings
        self._do = do
        self._lock = Lock()
        self._newest: dict[str, Job] = {}
        self._processes: dict[str, BaseProcess] = {}

    @property
    def newest(self) -> dict[str, Job]:
        """The newest of each read model, by its name."""
        return dict(self._newest)

    def begin(self, name: str, action: Action, accept_differences: bool = False) -> None:
        """Begin something in a process of its own.

        Raises:
            Busy: The last thing has not ended yet.
        """
        with self._lock:
            last = self._newest.get(name)
            if last is not None and not last.ended:
                raise Busy(f"{name}: {last.action} has not ended yet: {last.said}")
            here, there = SPAWN.Pipe(duplex=False)
            # by its values: a class that was made here, the other process would not find
            application = self._settings.application
            asked = (application, dict(self._settings), name, action, accept_differences, there)
            process = SPAWN.Process(target=self._do, args=asked, daemon=True)
            process.start()
            self._newest[name], self._processes[name] = Job(action, "starting"), process
        there.close()  # so that its end is heard here
        Thread(target=self._follow, args=(name, action, process, here), daemon=True).start()

    def stop(self) -> None:
        """End what runs; who wants a version builds it anew."""
        for process in self._processes.values():
            process.terminate()
            process.join(PATIENCE_S)

    def _follow(self, name: str, action: Action, process: BaseProcess, pipe: Connection) -> None:
        """Take over what is told; that it ended when the process has, which keeps others out."""
        last = Job(action, "starting")
        with pipe:
            try:
                while not last.ended:
                    self._newest[name] = last
                    last = pipe.recv()
            except EOFError:
                pass
        process.join()
        if not last.ended:
            said = f"its process ended with code {process.exitcode}, at: {last.said}"
            last = replace(last, said=said, ended=True, failed=True)
        self._newest[name] = last
