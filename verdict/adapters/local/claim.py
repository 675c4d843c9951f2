"""The exclusive right to run a broker on a data directory."""

import contextlib
import fcntl
import os
from pathlib import Path

import psutil

from verdict.errors import VerdictError


class BrokerClaim:
    """A pid file, locked while the process lives that made the claim, whatever ends that process.

    So a broker named in a file that can be locked has lost its parent: it is stale. It is
    recognised by its pid and by `mark` among its arguments; a pid alone may have a new owner, and
    a start time shifts with the clock.
    """

    def __init__(self, pid_file: Path, mark: str) -> None:
        """Claim the directory of `pid_file` and end a stale broker that still runs there.

        Raises:
            VerdictError: Another claim on it is alive.
        """
        self._mark = mark
        # not "w": the pid in it is wanted
        self._file = os.open(pid_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise VerdictError(
                f"a broker already runs on {pid_file.parent}: stop it, or name another directory"
            ) from None
        self._end_recorded()

    def record(self, pid: int) -> None:
        """Name the broker that this claim is for."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(pid).encode(), 0)

    def release(self) -> None:
        """Give the directory up; ends the recorded broker if its guardian could not."""
        self._end_recorded()
        os.ftruncate(self._file, 0)
        os.close(self._file)

    @property
    def broker(self) -> psutil.Process | None:
        """Return the recorded broker while it runs; never a process that got its pid later."""
        recorded = os.pread(self._file, 20, 0)
        if not recorded.isdigit():
            return None
        try:
            process = psutil.Process(int(recorded))
            return process if self._mark in process.cmdline() else None
        except psutil.Error:
            return None  # gone, or of a user whose processes we may not see

    def _end_recorded(self) -> None:
        if broker := self.broker:
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended by itself meanwhile
                broker.terminate()
                if psutil.wait_procs([broker], timeout=10)[1]:
                    broker.kill()
                    broker.wait()
