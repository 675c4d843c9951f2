"""A part of an application that is new, with its files, and how it gets into the application."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verdict.errors import VerdictError
from verdict.scaffold.files import write
from verdict.scaffold.joining import bound, joined
from verdict.scaffold.names import NameRefused
from verdict.scaffold.place import Place


@dataclass(frozen=True, slots=True)
class Part:
    """A new part, not written yet.

    Args:
        name: Of the part, and of its value in `module`.
        module: Has the value.
        listed: The argument of `Application` that takes it.
        files: What there is to write.
    """

    name: str
    module: str
    listed: str
    files: Mapping[Path, str]

    @property
    def lines(self) -> tuple[str, str]:
        """What a person adds to the application, if it was not clear where."""
        return f"from {self.module} import {self.name}", f"and `{self.name}` to its `{self.listed}`"

    def joined_to(self, source: str, value: str) -> str | None:
        """Return the module of an application with this part in it; None as `joined`."""
        return joined(source, value, self.listed, self.module, self.name)


def add(part: Part, place: Place) -> bool:
    """Write a part, and put it into the application; return whether it was clear where.

    Raises:
        IsThere: One of its files is there.
        NameRefused: The application has something else of this name.
        VerdictError: The file of the application is no Python.
    """
    source = place.file.read_text("utf-8")
    try:
        if part.name in bound(source):
            raise NameRefused(f"{place.file} has a {part.name!r} already: choose another name")
    except SyntaxError as error:
        raise VerdictError(
            f"{place.file} is no Python, line {error.lineno}: {error.msg}: nothing was written"
        ) from error
    changed = part.joined_to(source, place.value)
    write(part.files)
    if changed is not None:
        place.file.write_text(changed, "utf-8")
    return changed is not None
