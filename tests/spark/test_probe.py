"""What executors see and run is what the driver does, or it is named."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.application import APPLICATION
from verdict.adapters.spark import probe
from verdict.adapters.spark.probe import (
    Answer,
    Executor,
    Executors,
    answer_here,
    answer_of,
    differing,
)
from verdict.errors import UnreachableError, VerdictError

WANTED = {"Python": "3.11.7", "rules": "order=1", "file": "token"}
pytestmark = pytest.mark.usefixtures("at_once")
ONE, OTHER = ("a", "/local/1"), ("a", "/local/2")  # of one host


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait."""
    monkeypatch.setattr(probe, "SETTLED_S", 0)
    monkeypatch.setattr(probe, "CHECK_S", 0)


class ScriptedExecutors(Executors):
    """Executors of a script: who is there at each look, and who answers each question."""

    def __init__(self, shared: Path, there: list[str], answers: list[Mapping[Executor, str]]):
        context = SimpleNamespace(master="spark://host:7077")
        session: Any = SimpleNamespace(sparkContext=context)
        super().__init__(session, shared, APPLICATION)
        self.there, self.answers = there, answers

    def _there(self) -> frozenset[str]:
        return frozenset(self.there.pop(0) if len(self.there) > 1 else self.there[0])

    def _told(self, file: Path) -> dict[Executor, Answer]:
        return {
            who: answer_of(APPLICATION, file.read_text() if said == "" else said)
            for who, said in self.answers.pop(0).items()
        }


def test_everything_that_differs_is_named_with_its_host() -> None:
    answers: dict[Executor, Answer] = {
        ONE: WANTED | {"rules": "order=2"},
        OTHER: {"file": "", "Python": "3.12.1"},
    }

    assert [*differing(WANTED, {ONE: WANTED, OTHER: WANTED}, Path("/shared"))] == []
    assert [*differing(WANTED, answers, Path("/shared"))] == [
        "a has rules order=2, the driver order=1",
        "a has Python 3.12.1, the driver 3.11.7",
        "a has rules None, the driver order=1",
        "a does not see what was written to /shared (shared_dir)",
    ]


def test_a_file_of_somebody_else_is_no_shared_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/local/1")
    monkeypatch.setattr(probe, "HOLD_S", 0)
    (tmp_path / "seen").write_text("another")

    (host, folder), answer = answer_here(APPLICATION, tmp_path / "seen")
    assert (host, folder) == (os.uname().nodename, "/local/1")
    assert answer["file"] == "another"
    assert answer_here(APPLICATION, tmp_path / "missing")[1]["file"] == "FileNotFoundError"


def test_each_executor_has_to_answer_and_is_asked_again_if_it_had_no_room(tmp_path: Path) -> None:
    executors = ScriptedExecutors(tmp_path, ["12"], [{ONE: ""}, {ONE: "", OTHER: ""}])
    executors.await_fitting()
    assert executors.answers == []

    with pytest.raises(VerdictError, match="only 1 of 2 executors of spark://host:7077 answered"):
        ScriptedExecutors(tmp_path, ["12"], [{ONE: ""}]).await_fitting(patience_s=0)
    with pytest.raises(VerdictError, match="a does not see what was written to"):
        ScriptedExecutors(tmp_path, ["12"], [{ONE: "", OTHER: "FileNotFoundError"}]).ask()
    with pytest.raises(UnreachableError, match="no executor of spark://host:7077 is there: see wh"):
        ScriptedExecutors(tmp_path, [""], []).await_fitting(patience_s=0)


def test_the_loss_of_all_executors_is_reported_until_one_comes(tmp_path: Path) -> None:
    executors = ScriptedExecutors(tmp_path, ["1"], [{ONE: ""}])
    executors.await_fitting()
    executors.there = [""]

    executors.check()
    assert executors.missing is not None
    assert "no executor of spark://host:7077 is there" in executors.missing
    executors.there = ["2"]
    executors.check()
    assert executors.missing is None


@pytest.mark.process
def test_nothing_is_left_of_the_question(spark: SparkSession, tmp_path: Path) -> None:
    assert Executors(spark, tmp_path / "new", APPLICATION).ask()

    assert [*(tmp_path / "new").iterdir()] == []
