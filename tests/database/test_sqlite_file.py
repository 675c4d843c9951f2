from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import Engine, text

from projections.us_holder import us_holder
from tests.projection.event_log import EventLog, opened
from tests.projection.read_side import ReadSide
from verdict.database.sqlite_file import AnotherFile
from verdict.errors import VerdictError
from verdict.kafka.access import Kafka
from verdict.letters.destinations import Destinations
from verdict.letters.intake import Intake
from verdict.letters.receiving import Rules
from verdict.projection.database import open_database, see_that_it_is_the_same, snapshot
from verdict.wire.topics import Topics

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


def test_what_cannot_be_made_is_refused_in_words(tmp_path: Path) -> None:
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
    see_that_it_is_the_same(engine)

    said = happen(path)

    for look in (write, read, see_that_it_is_the_same):
        with pytest.raises(AnotherFile, match=f"{said}.*") as raised:
            look(engine)
        assert str(path) in str(raised.value)
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
    read_side = ReadSide(url, [us_holder()])
    applier = read_side.applier("us_holder")
    log.add("p-1", opened("ada"))
    restore(path)

    with pytest.raises(AnotherFile):
        applier.apply(log.everything())

    assert applier.failure is None
    read_side.close()


@pytest.mark.proves("F-21")
def test_the_intake_of_letters_stops_though_no_letter_comes(tmp_path: Path) -> None:
    path = tmp_path / "verdict.db"
    engine = open_database(f"sqlite:///{path}")
    destinations = Destinations(Topics(), (), frozenset)
    rules = Rules(
        attempts=1,
        backoff="fixed:1s",
        retry_topic="retry",
        problem_with=destinations.problem_with,
        now=lambda: 0,
    )
    restore(path)

    with pytest.raises(AnotherFile):
        Intake(engine, Kafka(settings={}), "dead-letters", rules, destinations).step()
    engine.dispose()
