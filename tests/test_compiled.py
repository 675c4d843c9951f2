"""Compiled, what every command passes through does what its `.py` files do."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.documents import ROOT
from tests.tiers import LATER, QUICK

NOT_COPIED = shutil.ignore_patterns(".*", "build", "dist", "__pycache__")
TESTED = ("tests/decide", "tests/processor", "tests/wire")
LACKING = re.compile(r"No such file or directory: '[^']*cc'|Python\.h: No such file or directory")
WHERE = "from verdict.write_side.decide import command_checks; print(command_checks.__file__)"


@pytest.mark.process
@pytest.mark.long
@pytest.mark.timeout(900)
def test_what_is_compiled_passes_the_tests_of_the_plain_modules(tmp_path: Path) -> None:
    """Who asks for it where there is no C compiler is told what is lacking."""
    copy = shutil.copytree(ROOT, tmp_path / "copy", ignore=NOT_COPIED)
    environment = {**os.environ, "MYPYC": "1", "PYTHONPATH": ""}

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = (sys.executable, *arguments)
        return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)

    wheel = ("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "..")
    built = run(*wheel, ".")
    if built.returncode:
        assert LACKING.search(built.stdout + built.stderr), built.stderr
        return
    [packed] = tmp_path.glob("*.whl")
    with ZipFile(packed) as opened:
        opened.extractall(copy)
    unmarked = f"not ({' or '.join(sorted(LATER))})"
    tested = run("-m", "pytest", "-q", f"--hypothesis-profile={QUICK}", "-m", unmarked, *TESTED)

    assert run("-c", WHERE).stdout.endswith(".so\n")
    assert tested.returncode == 0, tested.stdout
