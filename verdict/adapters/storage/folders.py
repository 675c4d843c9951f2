"""Files that must be whole and safe when they are seen, on a disk or in an object store.

A disk keeps what is flushed to it, and renames a file in one step. A store does neither: one
request writes a file, safe and whole, or not at all.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def located(where: str) -> Path:
    """Return the path that a text names, be it on a disk or in a store."""
    if "://" not in where:
        return Path(where)
    from verdict.adapters.storage.object_store import object_path  # what it takes not everybody has

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
