import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.application import APPLICATION
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.errors import UnreachableError, VerdictError
from verdict.settings.discovery import (
    FILE,
    AnnouncedService,
    announce,
    bootstrap_servers,
    database_url,
    find_service,
    withdraw,
)
from verdict.settings.load import load_settings

HERE = AnnouncedService(
    os.getpid(), "kafka:9092", "sqlite:////data/verdict.db", "http://127.0.0.1:8765"
)


def test_a_running_service_is_found_by_its_data_directory(tmp_path: Path) -> None:
    announce(tmp_path, HERE)

    assert find_service(tmp_path) == HERE
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    settings = load_settings(APPLICATION, data_dir=tmp_path)
    assert bootstrap_servers(settings) == "kafka:9092"
    assert database_url(settings) == "sqlite:////data/verdict.db"
    withdraw(tmp_path)
    assert find_service(tmp_path) is None


def test_an_announcement_that_is_damaged_or_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"pid": 1}')
    with pytest.raises(VerdictError, match=f"{FILE} is damaged .*bootstrap_servers"):
        find_service(tmp_path)

    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    with pytest.raises(VerdictError, match=f"cannot see what runs on {tmp_path}, Is a directory"):
        find_service(tmp_path)


@pytest.mark.process
def test_a_service_that_was_killed_is_not_found_nor_a_process_that_got_its_pid(
    tmp_path: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    announce(tmp_path, AnnouncedService(ended.pid, "kafka:9092", "sqlite:////x"))
    assert find_service(tmp_path) is None

    announce(tmp_path, HERE)
    long_ago = 1_000_000_000
    os.utime(tmp_path / FILE, (long_ago, long_ago))
    assert find_service(tmp_path) is None


def test_a_service_is_found_after_the_clock_was_set_forward(tmp_path: Path) -> None:
    with DataDirectoryLock(tmp_path):
        announce(tmp_path, HERE)
        an_hour_before_it_began = psutil.Process().create_time() - 3600
        os.utime(tmp_path / FILE, (an_hour_before_it_began, an_hour_before_it_began))

        assert find_service(tmp_path) == HERE


def test_what_is_set_wins_over_what_runs_and_without_both_the_next_command_is_named(
    tmp_path: Path,
) -> None:
    url = "postgresql://other/db"
    where = {"bootstrap_servers": "other:9092", "database_url": url}
    chosen = load_settings(APPLICATION, data_dir=tmp_path, **where)
    settings = load_settings(APPLICATION, data_dir=tmp_path)

    with pytest.raises(UnreachableError, match=r"start `verdict up` .*, or name its directory"):
        bootstrap_servers(settings)
    assert database_url(settings) == f"sqlite:///{tmp_path}/verdict.db"
    announce(tmp_path, HERE)
    assert (bootstrap_servers(chosen), database_url(chosen)) == ("other:9092", url)
