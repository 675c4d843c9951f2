"""The file of an SQLite database: how it is made, and what a process finds wrong with it.

A new file is in WAL mode before anybody can open it. If several processes turned it to WAL, SQLite
would fail some of them at once ("database is locked"; https://sqlite.org/wal.html, section 8).
"""

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from verdict.errors import VerdictError

WAL = "PRAGMA journal_mode=WAL"
WITHOUT_IT = (
    "the projections are filled again from Kafka, and dead letters, the outbox and interventions "
    "that only it had are lost"
)
REMEDY = (
    "nothing more is written: see that the right file is there, the former one or a sound copy, "
    f"then stop this process and start again; without a file {WITHOUT_IT}"
)
PRIMARY = 0xFF  # the bits of a result code that are its kind
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
A_SOUND_COPY = (
    "stop the service, remove the file with its -wal and -shm, which go with no other one, and put "
    f"a sound copy in its place, or none: {WITHOUT_IT}"
)


def is_damaged(error: object) -> bool:
    """Tell whether an error of the driver says that the file is no database, or not any more."""
    return _kind(error) in DAMAGED


def one_line_error(error: object) -> str:
    """Return a driver's message without line breaks; of a damaged file also what to do.

    It never says to remove a file that is no database: it may be something else.
    """
    said = " ".join(str(error).split())
    if _kind(error) == sqlite3.SQLITE_CORRUPT:
        return f"the database is damaged ({said}): {A_SOUND_COPY}"
    return said


def _kind(error: object) -> int:
    return (getattr(error, "sqlite_errorcode", None) or 0) & PRIMARY


class DatabaseFileChangedError(VerdictError):
    """The file of an open database is gone, or is another one now."""


class OpenedFile:
    """Notices that a path leads to another file; connections would go on with the former one.

    A copy over the file (`cp`) is not noticed, as it stays the same file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._was = path.stat()

    def check(self) -> None:
        """Return while the path leads to the same file."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            raise DatabaseFileChangedError(
                f"the database file {self._path} was removed or renamed while it was open; {REMEDY}"
            ) from None
        if not os.path.samestat(found, self._was):
            raise DatabaseFileChangedError(
                f"another file was put in the place of the database {self._path} while it was open "
                f"(inode {self._was.st_ino} then, {found.st_ino} now); {REMEDY}"
            )


def create(path: Path) -> None:
    """Make an empty database in WAL mode, with the folders above it, unless the file exists."""
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
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as scratch:
        new = Path(scratch) / path.name
        with closing(sqlite3.connect(new)) as connection:
            connection.execute(WAL)
        with suppress(FileExistsError):  # somebody was faster, with an empty one as good as ours
            os.link(new, path)
