"""The verbs of an application are listed and run like those of the engine."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

COUNT = """
import typer

app = typer.Typer()


@app.command()
def count() -> None:
    typer.echo("3 parcels")
"""


SHOP = """
from verdict import Application
from verdict.model import Verb

app = Application(
    name="shop",
    aggregates=(),
    schemas="",
    namespace="",
    verbs=(
        Verb("count", "Count parcels.", "Run", "count_parcels"),
        Verb("weigh", "Weigh parcels.", "Own", "missing.weigh"),
        Verb("up", "Not the engine's.", "Run", "count_parcels"),
    ),
)
"""


@pytest.fixture
def shop(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name an application with three verbs; the module of one of them is missing."""
    module = f"shop_of_{environment.name}"  # no other test loads it
    monkeypatch.syspath_prepend(environment)
    (environment / "count_parcels.py").write_text(COUNT)
    (environment / f"{module}.py").write_text(SHOP)
    monkeypatch.setenv("VERDICT_APP", f"{module}:app")


@pytest.mark.usefixtures("shop")
def test_help_lists_them_without_their_modules_and_the_engine_s_come_first(run: Run) -> None:
    shown = run("--help").stdout

    assert "Count parcels." in shown
    assert "Weigh parcels." in shown
    assert "Not the engine's" not in shown
    assert shown.index("Run all roles") < shown.index("Count parcels.")


@pytest.mark.usefixtures("shop")
def test_they_take_the_options_of_every_verb(run: Run) -> None:
    assert run("count").stdout == "3 parcels\n"
    assert "--data-dir" in run("count", "--help").stdout


@pytest.mark.usefixtures("shop")
def test_a_misspelled_one_is_suggested(run: Run) -> None:
    refused = run("weig")

    assert refused.exit_code == 2
    assert "Did you mean 'weigh'?" in refused.stderr
