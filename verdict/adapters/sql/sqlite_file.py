"""An SQLite database appears as a whole: a file that is in WAL mode from its first moment.

Several processes may open a new read side at the same time. If each turned the new file to WAL,
two could hold it as readers while both want it alone; SQLite then fails one of them at once,
whatever its patience ("database is locked"; https://sqlite.org/wal.html, section 8, and
`sqlite3_busy_handler`: no waiting where waiting could be a deadlock).
"""

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from verdict.errors import VerdictError

WAL = "PRAGMA journal_mode=WAL"
WITHOUT_IT = (
    "the read models are filled anew from Kafka, and letters, the outbox and interventions that "
    "only it had are lost"
)
REMEDY = (
    "nothing more is written: see that the right file is there, the one of before or a sound copy, "
    f"then stop this process and start again; without a file {WITHOUT_IT}"
)
LONGEST_CHECKPOINT_S = 60  # SQLite's, of up to 64 MB: the file is written last then
PRIMARY = 0xFF  # the bits of a result code that say of which kind it is; the others say more
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
A_SOUND_COPY = (
    "stop the service, remove the file with its -wal and -shm, which go with no other one, and put "
    f"a sound copy in its place, or none: {WITHOUT_IT}"
)


def is_damaged(error: object) -> bool:
    """Tell whether an error of the driver says that the file is no database, or not any more."""
    return primary_code(error) in DAMAGED


def primary_code(error: object) -> int:
    """Return of which kind an error of the driver is; 0 if it is not SQLite's."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & PRIMARY


class DatabaseFileChangedError(VerdictError):
    """The file of a database is gone, or another one now, and a process has the former open."""


class OpenedFile:
    """Which file a path leads to: connections go on with theirs when it is removed or replaced.

    A copy over it (`cp`) leaves it the same file, so that is not seen.

    Args:
        path: Of a file that is there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._was = self._found()

    def check(self) -> None:
        """Return while the path leads to the same file.

        Raises:
            DatabaseFileChangedError: It does not.
        """
        try:
            found = self._found()
        except FileNotFoundError:
            said = f"the database file {self._path} was removed or renamed while it was open"
            raise DatabaseFileChangedError(f"{said}; {REMEDY}") from None
        if found != self._was:
            raise DatabaseFileChangedError(
                f"another file was put in the place of the database {self._path} while it was open "
                f"(inode {self._was[1]} then, {found[1]} now); {REMEDY}"
            )

    def _found(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_dev, status.st_ino


def check_wal_belongs(path: Path) -> None:
    """Return unless a killed process has left a -wal that does not go with the file.

    SQLite takes whatever lies there for the end of the file, so a copy that is put in the place of
    the file becomes the former one again, or neither. The file is read once, a gigabyte in some
    seconds, and not changed. *Limit:* a copy that keeps its time is found by its damage alone.

    Raises:
        VerdictError: The two are no database together, or the file came long after its -wal.
    """
    log = path.with_name(f"{path.name}-wal")
    if not (path.exists() and log.exists() and log.stat().st_size):
        return
    later_s = path.stat().st_mtime - log.stat().st_mtime
    if later_s > LONGEST_CHECKPOINT_S:
        raise VerdictError(
            f"the database {path} was written {later_s:.0f} s after {log.name}, which would be "
            "taken for its end: if it is a copy that was put there, remove that and "
            f"{path.name}-shm; if it is the former one, `touch` them; then start again"
        )
    if (fault := _fault(path)) is not None:
        raise VerdictError(f"the database {path} is damaged ({fault}): {A_SOUND_COPY}")


def _fault(path: Path) -> str | None:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as reading:
            (found,) = reading.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        # of what else there is, whoever opens it to write tells
        return str(error) if is_damaged(error) else None
    return None if found == "ok" else " ".join(found.split())


def create(path: Path) -> None:
    """Make an empty database in WAL mode, with the folders above it, unless there is a file.

    Whoever else does so at the same time gets the same file, whole.

    Raises:
        VerdictError: Neither it nor its folder can be made there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _create(path)
    except OSError as error:
        raise VerdictError(
            f"the database {path} cannot be made, {error.strerror} ({error.filename}): name "
            "another data directory, or another database with VERDICT_DATABASE_URL"
        ) from error


def _create(path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as beside:
        new = Path(beside) / path.name
        with closing(sqlite3.connect(new)) as connection:
            connection.execute(WAL)
        with suppress(FileExistsError):  # somebody was faster, with an empty one as good as ours
            os.link(new, path)
