"""Closes the files of a service to other users of the machine."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from verdict.errors import VerdictError

LOG = logging.getLogger("verdict.private")
OTHERS = 0o077  # the rights of everybody but the owner

_of_the_user = [OTHERS]  # the last one is the umask of the user


def keep_to_ourselves() -> None:
    """Close the files that this process and its children make from now on."""
    if (former := os.umask(OTHERS)) != OTHERS:
        _of_the_user.append(former)


@contextmanager
def as_all_files_of_the_user() -> Iterator[None]:
    """Give files that are made inside, such as source, the rights that the user has set."""
    before = os.umask(_of_the_user[-1])
    try:
        yield
    finally:
        os.umask(before)


def close(folder: Path) -> None:
    """Make a folder for its owner only, or close the existing one with all in it.

    It also does `keep_to_ourselves`. It warns of files that it cannot close.
    """
    keep_to_ourselves()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise VerdictError(f"folder {folder} cannot be made, {error.strerror}") from error
    if not _is_open(folder):
        return
    LOG.warning("%s was open to other users of this machine, it is closed now", folder)
    for place, _, files in os.walk(folder):
        _close(Path(place))
        for name in files:
            _close(Path(place, name))


def _is_open(path: Path) -> bool:
    return bool(path.lstat().st_mode & OTHERS)


def _close(path: Path) -> None:
    try:
        if not path.is_symlink() and _is_open(path):
            path.chmod(path.stat().st_mode & ~OTHERS)
    except FileNotFoundError:
        return  # it was removed meanwhile
    except PermissionError as error:
        LOG.warning("%s is open to other users of this machine: %s", path, error.strerror)
