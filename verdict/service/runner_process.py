"""A process of its own that brings some projections forward: Python has one lock per process.

The service and the process are linked by a socket. The process gets its task first; then it answers
each question with the number of its steps. It ends when the socket is closed, so also when the
service is killed, and sends the error that ends it. Signals of a terminal are for the service only.
"""

import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from sqlalchemy import Engine

from verdict.adapters.kafka.reader import Options
from verdict.adapters.spark.gc import spare_imports
from verdict.errors import RestartRequestedError, UnreachableError, VerdictError
from verdict.read_side.catalog import projections
from verdict.read_side.live.projection_runner import ProjectionRunner
from verdict.read_side.schema.database import live_versions, open_database
from verdict.service.log_output import log_to_stderr
from verdict.settings.discovery import database_url
from verdict.settings.load import settings_alone
from verdict.settings.settings import Settings
from verdict.streaming.queries.batches_under_way import begin_batch, end_batch

PATIENCE_S = 30.0  # until the batch that is under way has ended
PASSED = (RestartRequestedError, UnreachableError, VerdictError)  # the narrower ones first


class RunnerEndedError(UnreachableError):
    """The process is gone; a new one continues at the positions in the database."""


class RunnerProcess:
    """Runs a `ProjectionRunner` in a process of its own.

    Args:
        settings: Of the service.
        kafka: How to connect, in librdkafka's names.
        name: For messages about a step that does not end.
        names: The projections.
    """

    def __init__(self, settings: Settings, kafka: Options, name: str, names: Sequence[str]) -> None:
        self.done = 0
        chosen = {field: getattr(settings, field) for field in type(settings).model_fields}
        self._task = settings.application, chosen, dict(kafka), names
        self._name = name
        self._names = ", ".join(names)
        self._asked = False
        self._link: Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; it works as soon as it has imported what it needs."""
        self.done, self._asked = 0, False
        self._link, theirs = Pipe()
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        self._link.send(self._task)

    def check(self) -> None:
        """Return while the process runs, and ask it for a sign of life.

        Raises:
            RestartRequestedError, UnreachableError, VerdictError: What ended it: see
                `ProjectionRunner.step`.
            RunnerEndedError: It was killed.
            RuntimeError: It ended because of a bug.
        """
        assert self._link is not None
        try:
            while self._link.poll():
                answer = self._link.recv()
                if isinstance(answer, Exception):
                    raise answer
                self.done, self._asked = answer, False
                end_batch(self._name)
            if not self._asked:
                self._link.send(None)
                self._asked = True
                begin_batch(self._name, self.done)
        except (EOFError, ConnectionError):
            raise self._ended() from None

    def stop(self) -> None:
        """End it after the batch that is under way."""
        end_batch(self._name)
        if self._link is None or self._process is None:
            return
        self._link.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()  # the database undoes its transaction
            self._process.wait()

    def _ended(self) -> RunnerEndedError:
        assert self._process is not None
        code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return RunnerEndedError(
            f"the process of {self._names} ended with {how}: the system may have killed it for its "
            "memory; a new one continues where its last transaction ended"
        )


def main(link: Connection) -> None:
    """Do the task that comes over `link`, until `link` is closed."""
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)  # the service gets it too, and closes the link
    log_to_stderr()
    try:
        application, chosen, kafka, names = link.recv()
        runner = _runner(settings_alone(application, **chosen), kafka, names)
        spare_imports()
        try:
            _run(runner, link)
        finally:
            runner.reset()
    except (EOFError, ConnectionError):
        return  # the service has stopped, or was killed
    except Exception as error:
        with suppress(ConnectionError):  # the service has stopped meanwhile
            link.send(_passed_on(error))


def _runner(settings: Settings, kafka: Options, names: Sequence[str]) -> ProjectionRunner:
    database: Engine = open_database(database_url(settings))
    every = projections(settings.application, settings.chosen, live_versions(database))
    return ProjectionRunner(
        database,
        [one for one in every if one.name in names],
        kafka,
        settings.topics,
        most=settings.max_rows_per_batch,
        pause_s=settings.projection_trigger_ms / 1000,
    )


def _run(runner: ProjectionRunner, link: Connection) -> None:
    done, pause_s = 0, 0.0
    while True:
        while link.poll(pause_s):
            link.recv()
            link.send(done)
            pause_s = 0.0
        pause_s = runner.step()
        done += 1


def _passed_on(error: Exception) -> Exception:
    """Return an error that can be pickled, with the same meaning for the supervisor."""
    for kind in PASSED:
        if isinstance(error, kind):
            return kind(str(error))
    return RuntimeError("".join(traceback.format_exception(error)).strip())


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
