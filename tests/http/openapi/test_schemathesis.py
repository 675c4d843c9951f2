"""U-04: whatever schemathesis asks of the page, it gets what `/openapi.json` says.

It has no token here, so its commands are refused; `tests/e2e` has a service that decides them.
"""

import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = Path(__file__).parent / "schemathesis.toml"


def findings(url: str, folder: Path, seconds: int, *options: str, config: Path = CONFIG) -> str:
    """Return what schemathesis has to say of a page after so many seconds; nothing is nothing."""
    told = ("--config-file", str(config), "run", f"{url}/openapi.json", "--no-color")
    how = ("--seed", "1", "--max-time", str(seconds), "--warnings", "off", *options)
    asked = [sys.executable, "-m", "schemathesis.cli", *told, *how]
    done = subprocess.run(asked, capture_output=True, text=True, cwd=folder)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.proves("U-04")
@pytest.mark.process
@pytest.mark.parametrize(
    "seconds",
    [pytest.param(30, marks=pytest.mark.slow), pytest.param(180, marks=pytest.mark.long)],
)
def test_schemathesis_finds_nothing(served: str, tmp_path: Path, seconds: int) -> None:
    assert findings(served, tmp_path, seconds) == ""
