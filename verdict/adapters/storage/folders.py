"""Files that must be whole and safe when others see them, on a disk or in an object store.

A disk keeps what is flushed to it, and renames a file in one step. In a store one request writes a
whole file, or nothing.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from verdict.errors import EnvironmentIncompleteError
from verdict.settings.settings import Settings


def durable_dir(settings: Settings) -> Path:
    """Return the folder of what every machine must see: checkpoint, recovered state, outputs."""
    try:
        return located(str(settings.durable_location))
    except ModuleNotFoundError as error:
        raise EnvironmentIncompleteError(
            f"shared_dir is {settings.shared_dir}, and {error.name}, which reads it, is not "
            "installed: pip install 'verdict-cqrs[s3]'"
        ) from error


def located(where: str) -> Path:
    """Return the path that a text names, on a disk or in a store."""
    if "://" not in where:
        return Path(where)
    from verdict.adapters.storage.object_store import object_path  # an extra brings its packages

    return object_path(where)


def in_store(path: Path) -> bool:
    """Tell whether a path is one of `verdict.adapters.storage.object_store`."""
    return not isinstance(path, Path)


def write_whole(file: Path, text: str) -> None:
    """Write a file that is there whole or, if this process is killed, as it was before."""
    if in_store(file):
        file.write_text(text)
        return
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text(text)
    flush([fresh])
    fresh.replace(file)
    flush([file, file.parent])


def flush(paths: Iterable[Path]) -> None:
    """Return when files, and which ones there are in folders, are safe on their disk."""
    for path in paths:
        if in_store(path):
            continue
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as it is there and lets us."""
    if not in_store(folder):
        shutil.rmtree(folder, ignore_errors=True)
        return
    stored: Any = folder
    stored.remove_all()
