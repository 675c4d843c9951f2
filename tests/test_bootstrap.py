import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from verdict.cli.verbs import VERBS

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent
NEEDED = (
    "bootstrap.py",
    "pyproject.toml",
    "requirements.lock",
    "compose/__init__.py",
    "verdict/errors.py",
    "verdict/adapters/local/__init__.py",
    "verdict/adapters/local/java.py",
    "verdict/adapters/local/jars.lock",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh checkout, as far as set-up reads it, and an empty folder `bin` for PATH."""
    for name in NEEDED:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    (tmp_path / "bin").mkdir()
    return tmp_path


def set_up(checkout: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "bootstrap.py"],
        cwd=checkout,
        env={"PATH": str(checkout / "bin"), **environment},
        capture_output=True,
        text=True,
    )


def test_a_missing_java_is_said_before_anything_is_installed(checkout: Path) -> None:
    answer = set_up(checkout)

    assert answer.returncode == 6
    assert "there is no java on PATH, and JAVA_HOME is not set" in answer.stderr
    assert "apt-get install openjdk-17-jre-headless" in answer.stderr
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize(("version", "major"), [("1.8.0_292", 8), ("11.0.2", 11), ("16-ea", 16)])
def test_every_java_that_does_not_fit_is_named(checkout: Path, version: str, major: int) -> None:
    java = checkout / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)

    answer = set_up(checkout, JAVA_HOME=str(checkout / "elsewhere"))

    assert answer.returncode == 6
    assert f"{checkout}/elsewhere/bin/java (from JAVA_HOME) does not run" in answer.stderr
    assert f"{checkout}/bin/java (from PATH) is Java {major}" in answer.stderr


def test_an_unfit_python_is_named(checkout: Path) -> None:
    pretend = "import runpy, sys; sys.version_info = (3, 10, 1); runpy.run_path('bootstrap.py', "
    answer = subprocess.run(
        [sys.executable, "-c", pretend + "run_name='__main__')"],
        cwd=checkout,
        capture_output=True,
        text=True,
    )

    assert answer.returncode == 6
    assert f"this is Python 3.10 ({sys.executable}), but 3.11 to 3.14 is needed" in answer.stderr


def test_a_finished_set_up_is_not_repeated(checkout: Path) -> None:
    set_up_module = runpy.run_path(str(checkout / "bootstrap.py"))
    set_up_module["VENV"].mkdir()
    set_up_module["STAMP"].write_text(set_up_module["fingerprint"]())

    answer = set_up(checkout)

    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def test_make_says_when_there_is_no_python() -> None:
    answer = subprocess.run(
        ["make", "setup", "PYTHON=no-such-python"], cwd=ROOT, capture_output=True, text=True
    )

    assert "there is no no-such-python on PATH; Python 3.11 to 3.14 is needed" in answer.stderr


def test_setup_calls_verbs_that_there_are() -> None:
    """A verb that is gone would only make each later start slower, and nothing would say so."""
    called = re.findall(r'"verdict", "([a-z-]+)"', (ROOT / "bootstrap.py").read_text())

    assert called
    assert {*called} <= {verb.name for verb in VERBS}
