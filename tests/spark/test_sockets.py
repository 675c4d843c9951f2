"""Where Spark's workers meet its JVM: in a folder that nobody else can enter, and one at most."""

import shutil
from pathlib import Path

import pytest
from pyspark import SparkContext

from verdict.adapters.spark.session import _folder_of_sockets


def test_a_short_path_is_taken_as_it_is(tmp_path: Path) -> None:
    short = Path("/tmp/v")

    assert _folder_of_sockets(short) == short


def test_a_long_path_has_one_folder_however_often_its_service_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)  # whatever other tests have started
    long = tmp_path / ("x" * 100)
    folder = _folder_of_sockets(long)
    (folder / "left.sock").touch()

    again = _folder_of_sockets(long)

    assert again == folder
    assert not [*again.iterdir()]
    assert again.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(again)


def test_what_somebody_put_in_its_place_is_not_entered(tmp_path: Path) -> None:
    long = tmp_path / ("y" * 100)
    usual = _folder_of_sockets(long)
    usual.rmdir()
    usual.symlink_to(tmp_path)  # nothing is removed through a link

    folder = _folder_of_sockets(long)

    assert folder != usual
    assert usual.is_symlink()
    usual.unlink()
    shutil.rmtree(folder)
