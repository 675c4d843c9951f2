"""New files of an application: where they belong, their text, and writing them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
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


@dataclass(frozen=True, slots=True)
class ScaffoldPart:
    """A new part, not written yet: `name` in `module`, for the argument `listed` of Application."""

    name: str
    module: str
    listed: str
    files: Mapping[Path, str]

    @property
    def lines(self) -> tuple[str, str]:
        """The two lines that its author adds to the application."""
        return f"from {self.module} import {self.name}", f"{self.listed}=(…, {self.name}),"


def target_of(path: str) -> Target:
    """Return where the application `MODULE:NAME` is, below the working directory.

    Raises:
        NoApplicationFolderError: It has no such file.
    """
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
    """Write new files, and the folders that they need.

    Raises:
        FileExistsAlreadyError: One of them exists already.
    """
    if existing := sorted(path for path in texts if path.exists()):
        raise FileExistsAlreadyError(
            f"{existing[0]} exists already, and no file is ever replaced: nothing was written"
        )
    with as_all_files_of_the_user():
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
