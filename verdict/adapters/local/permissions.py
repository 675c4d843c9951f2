"""Keeps what the service writes from other users of the machine: state, events and passwords."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from verdict.errors import VerdictError

LOG = logging.getLogger("verdict.private")
OTHERS = 0o077  # what nobody but the owner may do


_of_the_user = [OTHERS]  # the last one is what the user has set


def keep_to_ourselves() -> None:
    """Let what this process and its children make from now on be the owner's alone."""
    if (former := os.umask(OTHERS)) != OTHERS:
        _of_the_user.append(former)


@contextmanager
def as_all_files_of_the_user() -> Iterator[None]:
    """Let what is made meanwhile be as open as the user has it: source, nothing of a service."""
    before = os.umask(_of_the_user[-1])
    try:
        yield
    finally:
        os.umask(before)


def close(folder: Path) -> None:
    """Make a folder that only its owner can enter, or close the one that is there, with all in it.

    What cannot be closed is warned of, and what is closed already is not looked into. It is
    as `keep_to_ourselves` besides.

    Raises:
        VerdictError: The folder cannot be made.
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
        return  # somebody removed it meanwhile
    except PermissionError as error:
        LOG.warning("%s is open to other users of this machine: %s", path, error.strerror)
