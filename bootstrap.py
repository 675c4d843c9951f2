"""Prepare this checkout: check Python and Java, fill `.venv` from the lock, fetch the jars.

Standard library only, and readable by old Pythons, so that it can say what is missing. It may be
interrupted and run again; a stamp in `.venv` makes a run with nothing to do immediate.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "verdict.stamp"
LOCK = ROOT / "requirements.lock"
INPUTS = (LOCK, ROOT / "pyproject.toml", ROOT / "verdict/adapters/local/jars.lock")

OLDEST, TOO_NEW = (3, 11), (3, 15)
ENVIRONMENT = 6
QUICKEN_S = 300


class MissingError(Exception):
    """Something only the user can add."""


def main() -> int:
    """Return the exit code: 0 ready, 1 a step failed, 6 Python or Java is missing, 130 stopped."""
    try:
        check_python()
        with_lock(prepare)
    except MissingError as missing:
        print(f"verdict: {missing}", file=sys.stderr)
        return ENVIRONMENT
    except subprocess.CalledProcessError as failure:
        command = " ".join(map(str, failure.cmd))
        print(f"verdict: set-up stopped, run it again to go on; failed: {command}", file=sys.stderr)
        return ENVIRONMENT if failure.returncode == ENVIRONMENT else 1
    except KeyboardInterrupt:
        print("verdict: set-up interrupted, run it again to go on", file=sys.stderr)
        return 130
    return 0


def prepare() -> None:
    """Bring `.venv` and the jars to what the lock files say."""
    wanted = fingerprint()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return
    check_java()
    STAMP.unlink(missing_ok=True)
    if not usable():
        create()
    install()
    say("fetching the jars of Kafka and Spark's connector")
    run(PYTHON, "-m", "verdict.adapters.local.jars")
    quicken()
    STAMP.write_text(wanted)
    say("ready")


def quicken() -> None:
    """Let Kafka and Spark live once, so that each later start costs half; it is no must."""
    say("starting Kafka and Spark once, so that later starts are quicker (a minute)")
    try:
        subprocess.run(
            [VENV / "bin" / "verdict", "warmup"], check=True, cwd=ROOT, timeout=QUICKEN_S
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        say("that did not work, and nothing depends on it: `verdict warmup` tries it again")


def check_python() -> None:
    """Refuse a Python that the locked packages do not run on."""
    if not OLDEST <= sys.version_info[:2] < TOO_NEW:
        raise MissingError(
            f"this is Python {sys.version_info[0]}.{sys.version_info[1]} ({sys.executable}), "
            "but 3.11 to 3.14 is needed\n"
            "  Debian, Ubuntu: apt-get install python3 python3-venv (Debian 12, Ubuntu 24.04 on)\n"
            "  macOS:          brew install python@3.13\n"
            "  then:           make setup PYTHON=python3.13"
        )


def check_java() -> None:
    """Refuse to spend minutes on a set-up that could not run."""
    from verdict.adapters.local.java import find_java
    from verdict.errors import EnvironmentIncompleteError

    try:
        find_java()
    except EnvironmentIncompleteError as incomplete:
        raise MissingError(str(incomplete)) from None


def fingerprint() -> str:
    """Return what the set-up depends on; a moved checkout counts, as scripts hold its path."""
    digest = hashlib.sha256(f"{sys.version}\0{sys.base_prefix}\0{ROOT}".encode())
    for path in INPUTS:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def usable() -> bool:
    """Tell whether `.venv` is whole and of the running Python."""
    version = "import sys, pip; print(sys.version, sys.base_prefix)"
    try:
        answer = subprocess.run([PYTHON, "-c", version], capture_output=True, text=True)
    except OSError:
        return False
    return answer.stdout.strip() == f"{sys.version} {sys.base_prefix}".strip()


def create() -> None:
    """Create `.venv` from scratch."""
    say("creating .venv")
    try:
        venv.create(VENV, clear=True, with_pip=True, symlinks=True)
    except subprocess.CalledProcessError:
        raise MissingError(
            f"{sys.executable} cannot create a virtual environment\n"
            "  Debian, Ubuntu: apt-get install python3-venv"
        ) from None


def install() -> None:
    """Install exactly the locked packages, then the project itself in editable form."""
    say("installing Python packages (PySpark alone is 450 MB: minutes the first time)")
    build_tools = VENV / "build-tools.lock"
    build_tools.write_text(locked("setuptools") + locked("packaging") + locked("wheel"))
    pip: tuple[str | Path, ...] = (PYTHON, "-m", "pip", "install", *quietly())
    pip += ("--disable-pip-version-check", "--no-deps")
    # what has to be built is built with locked tools: an isolated build would fetch its own
    run(*pip, "--require-hashes", "-r", build_tools)
    run(*pip, "--require-hashes", "--no-build-isolation", "-r", LOCK)
    # on the path, and not found by a hook of its own: type checkers run no hooks
    visible = ("--config-settings", "editable_mode=compat")
    run(*pip, "--no-build-isolation", *visible, "--editable", ROOT)


def locked(package: str) -> str:
    """Return the lines of the lock that pin `package`."""
    lines = LOCK.read_text().splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if line.startswith(f"{package}=="))
    last = next(n for n in range(first, len(lines)) if not lines[n].endswith("\\\n"))
    return "".join(lines[first : last + 1])


def with_lock(action) -> None:  # type: ignore[no-untyped-def]  # Callable's home moved in 3.9
    """Run `action` while no other set-up of this checkout runs."""
    checkout = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(checkout, fcntl.LOCK_EX)
        action()
    finally:
        os.close(checkout)


def run(*command: str | Path) -> None:
    """Run one step; its own messages are what the user sees when it fails."""
    subprocess.run(command, check=True, cwd=ROOT)


def quietly() -> tuple[str, ...]:
    """Let pip show a person how far its downloads of minutes are, and tell a log nothing."""
    return () if sys.stdout.isatty() else ("--quiet",)


def say(progress: str) -> None:
    """Tell what is about to take time."""
    print(f"verdict: {progress}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
