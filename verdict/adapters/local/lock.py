"""The exclusive right to run on a directory, which ends with the process."""

import fcntl
import os
import time
from pathlib import Path

import psutil

from verdict.adapters.local import permissions
from verdict.errors import VerdictError
from verdict.settings.discovery import LOCK

CHILDREN_END_S = 30
RETRY_S = 0.1


class DataDirectoryLock:
    """Holds a data directory until it is released or the process ends.

    A child that inherits `fileno` holds it too: after a kill of this process, the directory stays
    locked while its JVM still writes into it.
    """

    def __init__(
        self, data_dir: Path, kind: str = "data directory", choice: str = "--data-dir"
    ) -> None:
        """Lock `data_dir`, which is created if it is missing; wait for children of a killed holder.

        The error names the pid of another process that holds it.
        """
        try:
            permissions.keep_to_ourselves()
            data_dir.mkdir(parents=True, exist_ok=True)
            # not "w": the file has the pid of its holder
            self._file = os.open(data_dir / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise VerdictError(
                f"{kind} {data_dir} cannot be used, {error.strerror} ({error.filename}): name "
                f"another directory with {choice}"
            ) from error
        deadline = time.monotonic() + CHILDREN_END_S
        while not self._taken():
            holder = os.pread(self._file, 20, 0).decode(errors="replace") or "unknown"
            orphaned = holder.isdecimal() and not psutil.pid_exists(int(holder))
            if orphaned and time.monotonic() < deadline:
                time.sleep(RETRY_S)
                continue
            os.close(self._file)
            raise VerdictError(
                f"{kind} {data_dir} is still written to by a child of process {holder}, "
                f"which is gone: end that child (`fuser {data_dir / LOCK}` names it)"
                if orphaned
                else f"{kind} {data_dir} is in use by the process with pid {holder}: "
                f"stop that one, or name another directory with {choice}"
            )
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def fileno(self) -> int:
        """Return the file descriptor, for children that write into the directory."""
        return self._file

    def release(self) -> None:
        """Give the directory up; the file stays, as its removal would race with the next lock."""
        os.ftruncate(self._file, 0)
        fcntl.flock(self._file, fcntl.LOCK_UN)  # for children that hold it, too
        os.close(self._file)

    def _taken(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def __enter__(self) -> "DataDirectoryLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
