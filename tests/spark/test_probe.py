"""What executors see and run is what the driver does, or it is named."""

import os
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from pyspark.sql import SparkSession

from tests.application import APPLICATION
from verdict.adapters.spark import probe
from verdict.adapters.spark.probe import (
    answer_here,
    answer_of,
    await_fitting_executors,
    differing,
)
from verdict.errors import UnreachableError, VerdictError

WANTED = {"Python": "3.11.7", "rules": "order=1", "file": "token"}


def test_everything_that_differs_is_named_with_its_host() -> None:
    answers = [("a", WANTED | {"rules": "order=2"}), ("b", {"file": "", "Python": "3.12.1"})]

    assert [*differing(WANTED, [("a", WANTED), ("b", WANTED)], Path("/shared"))] == []
    assert [*differing(WANTED, answers, Path("/shared"))] == [
        "a has rules order=2, the driver order=1",
        "b has Python 3.12.1, the driver 3.11.7",
        "b has rules None, the driver order=1",
        "b does not see what was written to /shared (shared_dir)",
    ]


def test_a_file_of_somebody_else_is_no_shared_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "HOLD_S", 0)
    (tmp_path / "seen").write_text("another")

    assert answer_here(APPLICATION, tmp_path / "seen") == (
        os.uname().nodename, answer_of(APPLICATION, "another"),
    )  # fmt: skip
    assert answer_here(APPLICATION, tmp_path / "missing")[1]["file"] == "FileNotFoundError"


def test_no_executors_are_waited_for_in_vain() -> None:
    spark = MagicMock()
    spark.sparkContext._jsc.sc().getExecutorIds().size.return_value = 0

    with pytest.raises(UnreachableError, match=r"no executor of .* has come in 0 s: see whether"):
        await_fitting_executors(spark, Path("/shared"), APPLICATION, patience_s=0)


@pytest.mark.process
def test_executors_are_asked_and_nothing_is_left_of_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "SETTLED_S", 0)
    spark = MagicMock()
    spark.sparkContext.parallelize().map().collect.return_value = [("a", WANTED)]

    with pytest.raises(VerdictError, match=r"do not fit: a does not see what was written to .*new"):
        await_fitting_executors(spark, tmp_path / "new", APPLICATION)

    assert [*(tmp_path / "new").iterdir()] == []


@pytest.mark.process
def test_a_task_answers(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "seen").write_text("token")

    [(_, answer), *_] = probe._asked(spark, APPLICATION, tmp_path / "seen")

    assert answer == answer_of(APPLICATION, "token")
