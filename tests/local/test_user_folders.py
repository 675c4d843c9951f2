"""A user without a home directory is told which variable names a folder instead."""

import pytest

from verdict.errors import EnvironmentIncompleteError
from verdict.settings import user_folders


@pytest.mark.parametrize(
    ("find", "folder", "variable"),
    [
        ("user_cache_path", user_folders.cache_folder, "XDG_CACHE_HOME"),
        ("user_data_path", user_folders.data_folder, "VERDICT_DATA_DIR"),
    ],
)
def test_without_a_home_folder_the_error_says_what_to_set(
    find: str, folder: object, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless(_: str) -> None:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(user_folders, find, homeless)

    with pytest.raises(
        EnvironmentIncompleteError, match=f"has no home directory: set {variable} to"
    ):
        folder()  # type: ignore[operator]
