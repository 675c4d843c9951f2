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

WAL = "PRAGMA journal_mode=WAL"


def create(path: Path) -> None:
    """Make an empty database in WAL mode, with the folders above it, unless there is a file.

    Whoever else does so at the same time gets the same file, whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as beside:
        new = Path(beside) / path.name
        with closing(sqlite3.connect(new)) as connection:
            connection.execute(WAL)
        with suppress(FileExistsError):  # somebody was faster, with an empty one as good as ours
            os.link(new, path)
