"""The verbs of an application in `verdict --help`, which does not run its modules."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from verdict.cli.application import VARIABLE
from verdict.cli.own_verbs import verbs_by_text
from verdict.model.verb import Verb

LISTED = """
raise RuntimeError("nobody runs this")
shop = Application(
    name="shop",
    verbs=(
        Verb("count", "Count parcels.", "Run", COUNT),
        verdict.Verb(panel="Own", module="m", summary="Weigh them.", name="weigh"),
        Verb("by-name", SUMMARY, "Run", "m"),
        computed(),
        Verb("up", "Not the engine's.", "Run", "m"),
    ),
)
"""


@pytest.fixture
def module(environment: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of the application that is named, in the working directory."""
    monkeypatch.setenv(VARIABLE, "theirs.application:shop")
    (environment / "theirs").mkdir()
    return environment / "theirs" / "application.py"


def test_verbs_are_listed_as_the_text_spells_them(module: Path, run: Run) -> None:
    module.write_text(LISTED)

    assert verbs_by_text() == [
        Verb("count", "Count parcels.", "Run", ""),
        Verb("weigh", "Weigh them.", "Own", ""),
        Verb("up", "Not the engine's.", "Run", ""),
    ]
    shown = run("--help").stdout
    assert "Count parcels." in shown
    assert "Not the engine's" not in shown


@pytest.mark.parametrize(
    "text",
    ["", "shop = application()", "shop = Application(verbs=all_verbs)", "other = 1", "def (", "\0"],
)
def test_of_any_other_text_help_is_silent(module: Path, run: Run, text: str) -> None:
    module.write_text(text)

    assert verbs_by_text() == []
    assert run("--help").exit_code == 0


def test_an_application_that_is_not_there_leaves_help_as_it_is(module: Path, run: Run) -> None:
    assert verbs_by_text() == []
    assert run("--help").exit_code == 0
