"""Finds a Java for the broker and Spark: in `JAVA_HOME`, then on `PATH`, 17 or newer.

`bootstrap.py` runs this before anything is installed: standard library only.
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
# Kafka and Spark change the case of names by the locale, and do not start with a Turkish one.
# A JVM decodes file names by the variable, and loses "ü" without UTF-8.
ENGLISH = ("-Duser.language=en",)
LOCALE = {"LC_ALL": "C.UTF-8"}
ANSWER_S = 30


def find_java() -> Path:
    """Return the first `java` that is new enough."""
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


def _asked(java: Path) -> tuple[int | None, str]:
    """Return the version, and the last line of `java` or why it did not start."""
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
