"""The user's folders for data and for the cache."""

import os
from collections.abc import Callable
from pathlib import Path

from platformdirs import user_cache_path, user_data_path

from verdict.errors import EnvironmentIncompleteError


def cache_folder() -> Path:
    """Return the folder for files that can be fetched or made again."""
    return _of_the_user(user_cache_path, "XDG_CACHE_HOME")


def data_folder() -> Path:
    """Return the folder for data, unless a setting names another; raises as `cache_folder`."""
    return _of_the_user(user_data_path, "VERDICT_DATA_DIR")


def _of_the_user(find: Callable[[str], Path], variable: str) -> Path:
    try:
        return find("verdict")
    except RuntimeError as error:
        raise EnvironmentIncompleteError(
            f"the user with id {os.getuid()} has no home directory: set {variable} to a folder "
            "that this user may write to, or HOME"
        ) from error
