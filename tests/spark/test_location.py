"""Where Spark writes, and what executors are told."""

import os
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from verdict.adapters.spark.location import local_path
from verdict.adapters.spark.session import EXECUTOR_OPTIONS, PYTHON, QUICK_COMPILER, _on_a_cluster
from verdict.streaming.queries.query import SparkQuery

MASTER = "spark://host:7077"


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a Python in the environment, as a session in this process has left one."""
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/another")


@pytest.mark.usefixtures("image")
def test_executors_run_the_python_that_is_set_for_them() -> None:
    _on_a_cluster(MASTER, [], {PYTHON: "/opt/env/bin/python"})
    assert os.environ["PYSPARK_PYTHON"] == "/opt/env/bin/python"


def test_else_that_of_the_environment_else_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/another")
    _on_a_cluster(MASTER, [], {})
    assert os.environ["PYSPARK_PYTHON"] == "/usr/bin/another"
    monkeypatch.delenv("PYSPARK_PYTHON")
    _on_a_cluster(MASTER, [], {})
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


@pytest.mark.usefixtures("image")
def test_executors_of_few_cores_compile_quickly_unless_somebody_knows_better() -> None:
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
