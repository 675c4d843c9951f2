from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from verdict.projection.database import open_database

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
