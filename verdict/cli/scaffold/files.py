"""New files of an application: their names, where they belong, their text, and writing them."""

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from verdict.adapters.local.permissions import as_all_files_of_the_user
from verdict.errors import VerdictError


class FileExistsAlreadyError(VerdictError):
    """A new file would replace another one; nothing was written."""


class NoApplicationFolderError(VerdictError):
    """The application is not in the working directory."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Target:
    """The application that gets the files: `value` in `module`, imported from `folder`."""

    folder: Path
    module: str
    value: str

    @property
    def file(self) -> Path:
        """The file of `module`."""
        return self.path(self.module)

    @property
    def package(self) -> str:
        """The prefix of its modules: `shop.`, or nothing at the root of a checkout."""
        above = self.module.rpartition(".")[0]
        package = above.rpartition(".")[0] if above.endswith("compose") else above
        return f"{package}." if package else ""

    def path(self, module: str) -> Path:
        """Return the file of a module."""
        return self.folder.joinpath(*module.split(".")).with_suffix(".py")

    def import_of(self, folder: str, name: str) -> str:
        """Return the line that imports a new part from a folder of the application."""
        return f"from {self.package}{folder}.{name} import {name}"


def target_of(path: str) -> Target:
    """Return where the application `MODULE:NAME` is, below the working directory."""
    module, _, value = path.partition(":")
    target = Target(Path.cwd(), module, value)
    if not target.file.is_file():
        raise NoApplicationFolderError(
            f"the application {path} is not in this folder ({target.file} does not exist): go to "
            "the folder that has it"
        )
    return target


def render(template: str, **pieces: str) -> str:
    """Return the text of a template of this package with its `$pieces`."""
    text = (files("verdict.cli.scaffold") / "templates" / f"{template}.txt").read_text("utf-8")
    return Template(text).substitute(pieces)


def imports(found: Iterable[tuple[str, str]]) -> str:
    """Return the imports of (module, name), sorted; a formatter breaks long lines."""
    by_module: dict[str, list[str]] = {}
    for module, name in sorted(set(found)):
        by_module.setdefault(module, []).append(name)
    return "\n".join(
        f"from {module} import {', '.join(names)}" for module, names in by_module.items()
    )


def write(texts: Mapping[Path, str]) -> None:
    """Write new files, and the folders that they need, if none of them exists already."""
    if existing := sorted(path for path in texts if path.exists()):
        raise FileExistsAlreadyError(
            f"{existing[0]} exists already, and no file is ever replaced: nothing was written"
        )
    with as_all_files_of_the_user():
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)


LONGEST = 30
NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{LONGEST - 1}}}")
# the modules that are written use these, as names or as classes
IN_USE = {
    "aggregate", "app", "command", "decide", "event", "evolve", "given", "happened", "message",
    "projection", "recorded", "refused", "row", "text", "using",
}  # fmt: skip


class InvalidNameError(VerdictError):
    """No file can be written for this name."""

    exit_code = 2


def require_valid_name(what: str, name: str) -> None:
    """Return if modules, classes and values can have this name."""
    problem = ""
    if not NAME.fullmatch(name):
        problem = (
            f"take a letter, then at most {LONGEST - 1} more letters, digits and _, all in lower "
            "case, such as gift_card"
        )
    elif keyword.iskeyword(name) or hasattr(builtins, name):
        problem = "Python uses it"
    elif name in IN_USE:
        problem = "the files that are written use it"
    if problem:
        raise InvalidNameError(f"{what} {name!r} cannot have this name: {problem}")


def require_free_module(name: str) -> None:
    """Return if a package of this name in the working directory hides no other module."""
    spec = find_spec(name)
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
    for place in filter(None, places):
        if not Path(place).is_relative_to(Path.cwd() / name):
            raise InvalidNameError(
                f"application {name!r} cannot have this name: it would hide the module {name} of "
                f"Python or of an installed package ({place})"
            )


def class_name(name: str) -> str:
    """Return `GiftCard` of `gift_card`."""
    return "".join(word.capitalize() for word in name.split("_"))


def words_of(name: str) -> str:
    """Return `gift card` of `gift_card`."""
    return " ".join(filter(None, name.split("_")))
