"""What is wrong with an application is said in one sentence, and only to who needs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from verdict.cli.verbs import VERBS

# each verb in one process that can load no application, as the loading of modules takes long
SCRIPT = """
import json, sys
from verdict.cli.main import app
for arguments in json.loads(sys.argv[1]):
    try:
        app(arguments)
    except SystemExit as ended:
        print("!", *arguments, ended.code, file=sys.stderr)
"""


@pytest.fixture
def broken(run: Run, environment: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of an application whose rules cannot be imported."""
    monkeypatch.delenv("VERDICT_APP", raising=False)
    run("new", "application", "shop", "--aggregate", "parcel")
    rules = environment / "shop" / "aggregates" / "parcel.py"
    rules.write_text(rules.read_text().replace("import Aggregate,", "import NoSuchThing,"))
    return environment


def told(folder: Path, *calls: list[str]) -> list[str]:
    """Return what calls of the command line say on stderr, each with its exit code."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(calls)]
    ran = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True)
    return ran.stderr.splitlines()


@pytest.mark.process
def test_help_and_new_need_no_application(broken: Path) -> None:
    helped = [[verb.name, "--help"] for verb in VERBS]
    others = [["--version"], ["new", "aggregate", "box"]]
    said = told(broken, *helped, *others, ["--help"])

    *ended, listed = [line for line in said if line.startswith("!")]
    assert ended == [f"! {' '.join(call)} 0" for call in (*helped, *others)]
    assert listed == "! --help 0"
    [warning] = [line for line in said if line.startswith("verdict")]
    assert warning.startswith("verdict: the application shop.compose.application:app cannot be")
    assert warning.endswith(": its verbs are not listed")


@pytest.mark.process
def test_a_verb_that_needs_it_says_where_it_is_broken(broken: Path) -> None:
    calls = [
        *(["describe"], ["up"], ["schemas", "write"], ["new", "projection", "b"], ["s"]),
        *(["acls"], ["topics", "check"], ["status"], ["sql"], ["config", "show"]),
    ]
    said = told(broken, *calls)

    reason, ended = said[::2], said[1::2]
    assert ended == [f"! {' '.join(call)} 2" for call in calls]
    assert {line.split(" (")[0] for line in reason} == {
        "verdict: the application shop.compose.application:app cannot be loaded: ImportError: "
        "cannot import name 'NoSuchThing' from 'verdict'"
    }
    assert all("(shop/aggregates/parcel.py, line 5)" in line for line in reason)


@pytest.mark.process
def test_the_application_of_a_checkout_is_not_taken_for_none(broken: Path) -> None:
    (broken / "verdict.toml").unlink()
    for folder in ("compose", "aggregates", "commands", "schemas"):
        (broken / "shop" / folder).rename(broken / folder)
    (broken / "compose" / "application.py").write_text("app = None.shop\n")

    said = told(broken, ["describe"], ["demo"])

    assert said[1::2] == ["! describe 2", "! demo 2"]
    assert all("compose.application:app cannot be loaded: Attrib" in line for line in said[::2])
