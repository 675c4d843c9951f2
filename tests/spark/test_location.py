"""Where Spark writes, and what executors are told."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from verdict.adapters.spark.query_settings import local_path
from verdict.adapters.spark.session import (
    EXECUTOR_OPTIONS,
    PYTHON,
    QUICK_COMPILER,
    _folder_of_sockets,
    _on_a_cluster,
)
from verdict.streaming.queries.spark_query import SparkQuery

MASTER = "spark://host:7077"


def test_executors_run_the_python_that_is_set_or_that_of_the_environment_or_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for chosen, environment, expected in (
        ({PYTHON: "/opt/env/bin/python"}, "/usr/bin/another", "/opt/env/bin/python"),
        ({}, "/usr/bin/another", "/usr/bin/another"),
        ({}, "", sys.executable),
    ):
        monkeypatch.setenv("PYSPARK_PYTHON", environment)
        _on_a_cluster(MASTER, [], chosen)
        assert os.environ["PYSPARK_PYTHON"] == expected


def test_executors_of_few_cores_compile_quickly_unless_somebody_knows_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/another")
    few = _on_a_cluster(MASTER, [], {"spark.executor.cores": "2", EXECUTOR_OPTIONS: "-Xss2m"})
    assert few[EXECUTOR_OPTIONS].endswith(f" {QUICK_COMPILER} -Xss2m")
    many = _on_a_cluster(MASTER, [], {"spark.executor.cores": "8"})
    assert QUICK_COMPILER not in many[EXECUTOR_OPTIONS]
    assert many[EXECUTOR_OPTIONS].startswith("-Dlog4j2.configurationFile=file:")


def test_a_checkpoint_lies_where_we_look_whatever_the_cluster_takes_by_default(
    spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint, arriving = tmp_path / "a b%20c", tmp_path / "arriving"
    arriving.mkdir()

    spark.conf.set("fs.defaultFS", "nowhere://host/")
    try:
        query = SparkQuery(spark, "q", lambda *_: None, lambda error: error)
        stream = spark.readStream.text(local_path(arriving))
        query.start(stream, checkpoint, trigger_ms=0)
        query.check()
        query.stop()
    finally:
        spark.conf.unset("fs.defaultFS")

    assert (checkpoint / "metadata").is_file()


def test_sockets_have_one_folder_for_a_long_path_however_often_its_service_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)  # whatever other tests have started
    short, long = Path("/tmp/v"), tmp_path / ("x" * 100)
    assert _folder_of_sockets(short) == short
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
