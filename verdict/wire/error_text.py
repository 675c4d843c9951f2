"""What is said of an exception in an application's code: never what fields hold, and where it was.

Who reads it may not see what is personal, and whoever mends the code was not there.
"""

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


def told(error: Exception) -> str:
    """Return its type, what is wrong, and the place in the application's files."""
    return f"{kind_and_text(error)}{place_of(error.__traceback__)}"


def described(error: Exception, *, anywhere: bool = False) -> str:
    """Return what a record says of a bug, the same in a replay: no addresses, and not too long.

    Args:
        error: What was raised.
        anywhere: Whether the place may be in verdict if no file of the application is on the way.
    """
    text, place = kind_and_text(error), place_of(error.__traceback__)
    ours = [one for one in _frames(error.__traceback__) if Path(one[0]).is_relative_to(OURS)]
    if anywhere and ours and not place:
        place = _shown(*ours[-1])
    return storable(ADDRESS.sub("0x", text), TEXT_CHARS - len(place)) + place


def storable(text: object, most: int = TEXT_CHARS) -> str:
    """Return the text as Avro and every database can hold it."""
    escaped = str(text).replace("\0", "\\0").encode(errors="backslashreplace").decode()
    return escaped[:most]


def kind_and_text(error: Exception) -> str:
    """Return its type and what is wrong; of fields the names, and not what they hold."""
    try:
        text = problems(error) if isinstance(error, ValidationError) else str(error)
    except Exception as broken:
        text = f"(its text failed with {type(broken).__name__})"
    return f"{type(error).__name__}: {text}"


def problems(error: ValidationError, whole: str = "") -> str:
    """Return which fields are wrong, and why, and not what they hold; `whole` names all of it."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    named = ((".".join(map(str, one["loc"])) or whole, one["msg"]) for one in found)
    return "; ".join(": ".join(filter(None, one)) for one in named)


def place_of(traceback: TracebackType | None) -> str:
    """Return ` (FILE, line N)`: where it was raised, in the innermost file of the application.

    Files of installed packages are shown if there is no other one, as an application may be one.
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
    """Return a file as from the folder from which it is imported: hosts have it at other places."""
    roots = (Path(root) for root in sys.path if root and Path(file).is_relative_to(root))
    return min((str(Path(file).relative_to(root)) for root in roots), key=len, default=file)
