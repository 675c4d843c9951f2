"""Archives of the classes of Kafka and Spark, which make JVMs start faster.

Spark loads some 20,000 classes: 13 of 22 s of processor time until a first result. A JVM can write
them to a file at its end, and the next one maps it (JEP 310, JEP 350; Java 13 and newer). A JVM
ignores a file that does not fit its Java or its jars.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from verdict.settings.user_folders import cache_folder

JARS = "*.jar"

_recorded: dict[Path, Path] | None = None  # new file → its final name


def class_archive(kind: str, java: Path, jars: Iterable[Path]) -> list[str]:
    """Return the JVM options to use the archive of a kind, if there is one."""
    archive = _place(kind, java, jars)
    if _recorded is not None:
        fresh = archive.with_suffix(f".{os.getpid()}")
        _recorded[fresh] = archive
        return [f"-XX:ArchiveClassesAtExit={fresh}"]
    return [f"-XX:SharedArchiveFile={archive}"] if _ours(archive) else []


@contextmanager
def recorded() -> Iterator[list[Path]]:
    """Let JVMs that start and end inside write their archives."""
    global _recorded
    cache_folder().mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    _recorded = {}
    try:
        yield written
        for fresh, archive in _recorded.items():
            if fresh.exists():
                written.append(fresh.replace(archive))
    finally:
        for fresh in _recorded:
            fresh.unlink(missing_ok=True)
        _recorded = None


def is_recording() -> bool:
    """Return whether JVMs write archives at their end, which takes time."""
    return _recorded is not None


def _place(kind: str, java: Path, jars: Iterable[Path]) -> Path:
    """Return the archive of exactly this Java and these jars."""
    files = [java.resolve()]
    for jar in jars:
        files += sorted(jar.glob(JARS)) if jar.is_dir() else [jar]
    found = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    digest = hashlib.sha256(repr(found).encode()).hexdigest()
    return cache_folder() / f"classes-{kind}-{digest[:16]}.jsa"


def _ours(archive: Path) -> bool:
    """Tell whether the archive exists and only this user can have written it."""
    try:
        found = archive.stat()
    except FileNotFoundError:
        return False
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022
