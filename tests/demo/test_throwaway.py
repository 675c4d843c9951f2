from pathlib import Path

import pytest

from compose.demo.throwaway import data_directory
from verdict.errors import VerdictError


def test_the_directory_is_gone_afterwards_whatever_happened() -> None:
    with pytest.raises(KeyboardInterrupt), data_directory(None) as folder:  # noqa: PT012
        (folder / "broker").mkdir()
        raise KeyboardInterrupt

    assert not folder.exists()
    assert str(folder.name) == str(folder.name).lower()


def test_a_directory_to_keep_stays(tmp_path: Path) -> None:
    with data_directory(tmp_path / "new") as folder:
        (folder / "file").touch()

    assert (tmp_path / "new" / "file").exists()


def test_a_directory_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()

    with pytest.raises(VerdictError, match="is not empty"), data_directory(tmp_path):
        pass

    assert (tmp_path / "mine").exists()
