"""The jars that pip cannot install: Kafka's broker, and Spark's Kafka connector.

The Ivy in pyspark fetches them to the user's cache. Each use checks their hashes against
`jars.lock`, which takes 0.1 s.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from verdict.adapters.local.java import find_java
from verdict.errors import EnvironmentIncompleteError
from verdict.settings import IVY_SETTINGS
from verdict.settings.user_folders import cache_folder

HERE = Path(__file__).parent
LOCK = HERE / "jars.lock"
OF_S3 = HERE / "s3.lock"  # for an object store only
# broker and Spark have different versions of kafka-clients, so never on one class path
FOLDERS = {LOCK: ("broker", "spark"), OF_S3: ("s3",)}


def broker_classpath() -> str:
    """Return the class path of Kafka's broker and its tools; raises as `fetched` does."""
    return str(fetched() / "broker" / "*")


def spark_jars() -> list[Path]:
    """Return the jars with which Spark reads and writes Kafka; raises as `fetched` does."""
    return sorted((fetched() / "spark").iterdir())


def s3_jars() -> list[Path]:
    """Return the jars with which Spark uses an object store; raises as `fetched` does."""
    return sorted((fetched(OF_S3) / "s3").iterdir())


def fetched(lock: Path = LOCK) -> Path:
    """Return the cache folder, with a folder per class path; fetch it if it is missing.

    Raises:
        EnvironmentIncompleteError: The jars cannot be fetched, or are not what the lock says.
    """
    cache = cache_folder()
    # one folder per lock, for checkouts of different versions
    folder = cache / f"jars-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    if folder.is_dir():
        verify(folder, lock)
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as scratch:
        staged = Path(scratch, "jars")
        retrieve(staged, lock)
        verify(staged, lock)
        try:
            staged.rename(folder)
        except OSError:  # another process was faster, and has checked what it fetched
            if not folder.is_dir():
                raise
    return folder


def verify(folder: Path, lock: Path) -> None:
    """Return if `folder` holds exactly the jars of `lock`; the error names each difference."""
    found, wanted = digests(folder), read_lock(lock)
    differing = [
        f"  {jar}: found {found.get(jar, 'nothing')}, wanted {wanted.get(jar, 'nothing')}"
        for jar in sorted(found.keys() | wanted.keys())
        if found.get(jar) != wanted.get(jar)
    ]
    if differing:
        raise EnvironmentIncompleteError(
            f"the jars in {folder} are not those of {lock.name} (SHA-256):\n"
            + "\n".join(differing)
            + "\ndelete that folder, if it still exists, to have them fetched again"
        )


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below `folder`, by its relative path."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def read_lock(lock: Path = LOCK) -> dict[str, str]:
    """Return the SHA-256 of each "folder/name" in a lock."""
    lines = (line.split() for line in lock.read_text().splitlines())
    return {f"{folder}/{name}": sha256 for folder, name, sha256 in lines}


def write_lock(lock: Path) -> None:
    """Fetch the jars of the ivy files, and write their hashes to the lock."""
    with tempfile.TemporaryDirectory() as scratch:
        staged = Path(scratch, "jars")
        retrieve(staged, lock)
        found = digests(staged)
    lock.write_text("".join(f"{jar.replace('/', ' ')} {found[jar]}\n" for jar in found))


def retrieve(target: Path, lock: Path) -> None:
    """Let Ivy put the jars of each folder below `target`; unchecked, see `verify`."""
    named = os.environ.get(IVY_SETTINGS)
    settings = ["-settings", named] if named else []
    for folder in FOLDERS[lock]:
        command = [str(find_java()), "-jar", str(_ivy()), *settings]
        command += ["-cache", str(target.with_name("ivy-cache"))]
        command += ["-ivy", str(HERE / f"{folder}.ivy.xml")]
        command += ["-retrieve", str(target / folder / "[artifact]-[revision].[ext]")]
        ivy = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ivy.returncode != 0:
            raise EnvironmentIncompleteError(
                f"the {folder} jars could not be fetched; Ivy's last lines:\n"
                f"{last_lines(ivy.stdout)}\n"
                f"without access to Maven Central, name an ivysettings.xml in {IVY_SETTINGS}"
            )


def last_lines(text: str) -> str:
    """Return the end of a program's output, indented."""
    return "\n".join(f"  {line}" for line in text.splitlines()[-20:])


def _ivy() -> Path:
    # importing pyspark would take longer than all of this
    pyspark = find_spec("pyspark")
    folders = pyspark.submodule_search_locations if pyspark else None
    for folder in folders or ():
        for jar in Path(folder, "jars").glob("ivy-*.jar"):
            return jar
    raise EnvironmentIncompleteError(
        "pyspark, or the ivy jar in it, is not installed: run make setup"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch the jars, or with `--lock` rewrite the lock files (for maintainers)."""
    parser = argparse.ArgumentParser(
        prog="python -m verdict.adapters.local.jars", description=main.__doc__
    )
    parser.add_argument("--lock", action="store_true", help="rewrite the locks from the ivy files")
    options = parser.parse_args(arguments)
    try:
        if options.lock:
            for lock in FOLDERS:
                write_lock(lock)
        else:
            fetched()
    except EnvironmentIncompleteError as incomplete:
        print(f"verdict: {incomplete}", file=sys.stderr)
        return incomplete.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
