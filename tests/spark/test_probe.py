"""What executors see and run is what the driver does, or it is named."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from verdict.spark.probe import FILE, answer_here, differing, see_that_executors_fit

WANTED = {"Python": "3.11.7", "rules": "order=1", "file": "token"}


def test_executors_that_are_alike_differ_in_nothing() -> None:
    assert [*differing(WANTED, {"a": WANTED, "b": WANTED}, Path("/shared"))] == []


def test_everything_that_differs_is_named_with_its_host() -> None:
    answers = {"a": WANTED | {"rules": "order=2"}, "b": WANTED | {"file": "", "Python": "3.12.1"}}

    assert [*differing(WANTED, answers, Path("/shared"))] == [
        "a has rules order=2, the driver order=1",
        "b has Python 3.12.1, the driver 3.11.7",
        "b does not see what was written to /shared (shared_dir)",
    ]


def test_a_file_of_somebody_else_is_no_shared_one(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("another")

    assert answer_here(tmp_path / FILE)[1]["file"] == "another"
    assert answer_here(tmp_path / "missing")[1]["file"] == "FileNotFoundError"


@pytest.mark.process
def test_nothing_is_left_of_the_question(spark: SparkSession, tmp_path: Path) -> None:
    see_that_executors_fit(spark, tmp_path / "new", of_at_least=0)

    assert [*(tmp_path / "new").iterdir()] == []
