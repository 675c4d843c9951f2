"""A folder for a database that nobody needs afterwards."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from verdict.adapters.local import permissions

PREFIX = "export-"


@contextmanager
def scratch_database(data_dir: Path) -> Iterator[Path]:
    """Give an empty folder below `data_dir`; those of runs that were killed are removed."""
    permissions.close(data_dir)
    for left in data_dir.glob(f"{PREFIX}*"):
        pid = left.name.removeprefix(PREFIX)
        if pid.isdigit() and (int(pid) == os.getpid() or not psutil.pid_exists(int(pid))):
            shutil.rmtree(left, ignore_errors=True)
    folder = data_dir / f"{PREFIX}{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
