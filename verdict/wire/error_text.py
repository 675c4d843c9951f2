"""The text about an exception in an application's code: never values of fields, and its place."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb
from types import TracebackType

from pydantic import ValidationError

OURS = Path(__file__).parents[1]
PYTHONS = Path(os.__file__).parent
INSTALLED = ("site-packages", "dist-packages")
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
TEXT_CHARS = 500


def error_text(error: Exception) -> str:
    """Return its type, its message, and the place in the application's files."""
    return f"{kind_and_text(error)}{place_of(error.__traceback__)}"


def described(error: Exception, *, anywhere: bool = False) -> str:
    """Return the text about a bug for a record: short, and the same in a replay.

    Args:
        error: The exception.
        anywhere: Whether the place may be in verdict if the application is not in the traceback.
    """
    text, place = kind_and_text(error), place_of(error.__traceback__)
    ours = [one for one in _frames(error.__traceback__) if Path(one[0]).is_relative_to(OURS)]
    if anywhere and ours and not place:
        place = _shown(*ours[-1])
    return storable(ADDRESS.sub("0x", text), TEXT_CHARS - len(place)) + place


def storable(text: object, most: int = TEXT_CHARS) -> str:
    """Return a text that Avro and every database can store."""
    escaped = str(text).replace("\0", "\\0").encode(errors="backslashreplace").decode()
    return escaped[:most]


def kind_and_text(error: Exception) -> str:
    """Return its type and its message, with the names of fields but not their values."""
    try:
        text = problems(error) if isinstance(error, ValidationError) else str(error)
    except Exception as broken:
        text = f"(its text failed with {type(broken).__name__})"
    return f"{type(error).__name__}: {text}"


def problems(error: ValidationError, whole: str = "") -> str:
    """Return which fields are wrong and why, without values; `whole` names the whole."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    named = ((".".join(map(str, one["loc"])) or whole, one["msg"]) for one in found)
    return "; ".join(": ".join(filter(None, one)) for one in named)


def place_of(traceback: TracebackType | None) -> str:
    """Return ` (FILE, line N)` of the innermost file of the application.

    An application may be an installed package, so these count if there is no other file.
    """
    frames = [*_outside_of_verdict(traceback)]
    own = [one for one in frames if not _is_installed(one[0])]
    return _shown(*(own[-1] if own else frames[0])) if frames else ""


def _shown(file: str, line: int) -> str:
    return f" ({_as_imported(file)}, line {line})"


def _frames(traceback: TracebackType | None) -> Iterator[tuple[str, int]]:
    return ((frame.f_code.co_filename, line) for frame, line in walk_tb(traceback))


def _outside_of_verdict(traceback: TracebackType | None) -> Iterator[tuple[str, int]]:
    for file, line in _frames(traceback):
        is_pythons = Path(file).is_relative_to(PYTHONS) and not _is_installed(file)
        if not (file.startswith("<") or Path(file).is_relative_to(OURS) or is_pythons):
            yield file, line


def _is_installed(file: str) -> bool:
    return any(part in INSTALLED for part in Path(file).parts)


def _as_imported(file: str) -> str:
    """Return the path of a file within its folder on `sys.path`, which differs between hosts."""
    roots = (Path(root) for root in sys.path if root and Path(file).is_relative_to(root))
    return min((str(Path(file).relative_to(root)) for root in roots), key=len, default=file)
