import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DatabaseError

from projections.us_holder import us_holder
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from verdict.adapters.sql.sqlite_file import DatabaseFileChangedError
from verdict.errors import UnreachableError, VerdictError
from verdict.read_side.apply.applier import database_failed
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.schema.database import (
    failing_in_words,
    open_database,
    require_same_database,
    snapshot,
)

ROUNDS, AT_ONCE = 30, 8
SQLITES_OWN = {"read.db-wal", "read.db-shm"}  # they stay if the last two close at the same moment


def test_many_may_open_a_new_file_at_the_same_time(tmp_path: Path) -> None:
    begin = Barrier(AT_ONCE)

    def mode_of(path: Path) -> str:
        begin.wait()
        engine = open_database(f"sqlite:///{path}")
        with engine.connect() as connection:
            mode: str = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
        engine.dispose()
        return mode

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for number in range(ROUNDS):
            path = tmp_path / str(number) / "read.db"
            assert set(threads.map(mode_of, [path] * AT_ONCE)) == {"wal"}
            left = {other.name for other in path.parent.iterdir()}
            assert left - SQLITES_OWN == {"read.db"}


def test_what_cannot_be_created_is_refused_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nothing")):
        with pytest.raises(VerdictError, match=f"{folder}/read.db cannot be made, .*: name "):
            open_database(f"sqlite:///{folder}/read.db")


def remove(path: Path) -> str:
    path.rename(path.with_name("elsewhere.db"))
    return "was removed or renamed"


def restore(path: Path) -> str:
    """Put a copy in its place, as people do who restore a backup; one with the same content."""
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    copy.rename(path)
    return "another file was put in the place of the database"


def lead_elsewhere(path: Path) -> str:
    """Let the path be a link, to another database."""
    other = path.with_name("other.db")
    open_database(f"sqlite:///{other}").dispose()
    path.unlink()
    path.symlink_to(other)
    return "another file was put in the place of the database"


@pytest.mark.proves("F-21")
@pytest.mark.parametrize("happen", [remove, restore, lead_elsewhere])
def test_nothing_is_read_or_written_once_the_file_is_another(
    happen: Callable[[Path], str], tmp_path: Path
) -> None:
    """It went on in the file that was gone, without a word, and all of that was lost."""
    path = tmp_path / "verdict.db"
    engine = open_database(f"sqlite:///{path}")
    kept = engine.connect()  # in the pool again before the file is another
    kept.exec_driver_sql("CREATE TABLE t (n INTEGER)")
    kept.commit()
    kept.close()
    require_same_database(engine)

    said = happen(path)

    for look in (write, read, require_same_database):
        with pytest.raises(DatabaseFileChangedError, match=f"{said}.*") as raised:
            look(engine)
        assert str(path) in str(raised.value)
    engine.dispose()


@pytest.mark.proves("F-21")
def test_a_damaged_file_stops_all_that_write_and_says_what_to_do(tmp_path: Path) -> None:
    """Else one projection is stopped with a driver's words, and the others write on into it."""
    path = tmp_path / "read.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE row (number INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        many = [(number, str(number) * 50) for number in range(500)]
        connection.executemany("INSERT INTO row VALUES (?, ?)", many)
        connection.commit()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    engine = open_database(f"sqlite:///{path}")

    asked = text("SELECT count(name) FROM row")
    with pytest.raises(DatabaseError) as damaged, engine.connect() as connection:
        connection.execute(asked)
    assert database_failed(damaged.value)
    with (
        pytest.raises(
            UnreachableError, match=r"the database is damaged \(.*\): stop the service, rem"
        ),
        failing_in_words(engine),
        engine.connect() as connection,
    ):
        connection.execute(asked)
    engine.dispose()


def write(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO t VALUES (1)"))


def read(engine: Engine) -> None:
    with snapshot(engine) as connection:
        connection.execute(text("SELECT n FROM t"))


@pytest.mark.proves("F-21")
def test_a_projection_stops_and_is_not_taken_for_one_at_fault(tmp_path: Path) -> None:
    path = tmp_path / "verdict.db"
    url, log = f"sqlite:///{path}", EventLog()
    read_side = ReadSide(url, [compile_projection(us_holder)])
    applier = read_side.applier("us_holder")
    log.add("p-1", opened("ada"))
    restore(path)

    with pytest.raises(DatabaseFileChangedError):
        applier.apply(log.everything())

    assert applier.failure is None
    read_side.close()
