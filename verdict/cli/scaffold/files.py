"""Files that are written together, or not at all; nothing that is there is ever written over."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from verdict.adapters.local.permissions import as_all_files_of_the_user
from verdict.errors import VerdictError


class FileExistsAlreadyError(VerdictError):
    """A file would be written over; nothing was written."""


def render(template: str, **pieces: str) -> str:
    """Return the text of a template of this package with its `$pieces`."""
    text = (files("verdict.cli.scaffold") / "templates" / f"{template}.txt").read_text("utf-8")
    return Template(text).substitute(pieces)


def write(texts: Mapping[Path, str]) -> None:
    """Write new files, and the folders that they need.

    Raises:
        FileExistsAlreadyError: One of them is there.
    """
    if there := sorted(path for path in texts if path.exists()):
        raise FileExistsAlreadyError(
            f"{there[0]} is there already, and no file is ever written over: nothing was written"
        )
    with as_all_files_of_the_user():
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
