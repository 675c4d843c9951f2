"""Which Java runs the broker and Spark: `JAVA_HOME`, then `PATH`, and 17 or newer.

`bootstrap.py` asks here before anything is installed: standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from verdict.errors import EnvironmentIncompleteError

MINIMUM = 17
# Kafka and Spark change the case of their own names by the rules of the locale: with Turkish ones
# neither starts. A JVM reads file names by the variable, and "ü" is lost without UTF-8.
ENGLISH = ("-Duser.language=en",)
LOCALE = {"LC_ALL": "C.UTF-8"}
ANSWER_S = 30


def find_java() -> Path:
    """Return the first `java` that is new enough.

    Raises:
        EnvironmentIncompleteError: There is none; the message says what was found and what to
            install.
    """
    found = []
    for origin, java in _candidates():
        version, said = _asked(java)
        if version is not None and version >= MINIMUM:
            return java
        answer = f"does not run ({said})" if version is None else f"is Java {version}"
        found.append(f"{java} (from {origin}) {answer}")
    raise EnvironmentIncompleteError(
        f"Java {MINIMUM} or newer is needed for Kafka and Spark: "
        f"{'; '.join(found) or 'there is no java on PATH, and JAVA_HOME is not set'}\n"
        "  Debian, Ubuntu: apt-get install openjdk-17-jre-headless\n"
        "  macOS:          brew install openjdk@17\n"
        "  elsewhere:      any JDK or JRE from 17 on; name its folder in JAVA_HOME"
    )


def java_version(java: Path) -> int | None:
    """Return the major version that `java` itself reports, None when it does not run.

    Raises:
        EnvironmentIncompleteError: It does not end: what it is nobody knows.
    """
    return _asked(java)[0]


def _asked(java: Path) -> tuple[int | None, str]:
    """Return the version, and the last line that `java` printed, or why it did not start."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=ANSWER_S
        )
    except OSError as error:
        return None, str(error)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentIncompleteError(
            f"`{java} -version` did not answer within {ANSWER_S} s: see what keeps this machine "
            "busy, then try again"
        ) from error
    # up to Java 8 the major version came second: "1.8.0_292"
    reported = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    last = (answer.stderr.strip() or f"exit code {answer.returncode}").splitlines()[-1]
    return (int(reported[1]) if reported and answer.returncode == 0 else None), last


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path)
