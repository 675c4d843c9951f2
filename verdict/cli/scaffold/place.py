"""Where the files of an application lie: by the module that puts it together, below this folder."""

from dataclasses import dataclass
from pathlib import Path

from verdict.errors import VerdictError


class NoApplicationFolderError(VerdictError):
    """The application is not in the working directory."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Target:
    """An application in files.

    Args:
        folder: From which its modules are imported.
        module: Has the application.
        value: Name of the application in `module`.
    """

    folder: Path
    module: str
    value: str

    @property
    def file(self) -> Path:
        """The file of `module`."""
        return self.path(self.module)

    @property
    def package(self) -> str:
        """Stands before the names of its modules: `shop.`, or nothing at the root of a checkout."""
        above = self.module.rpartition(".")[0]
        package = above.rpartition(".")[0] if above.endswith("compose") else above
        return f"{package}." if package else ""

    def path(self, module: str) -> Path:
        """Return the file of a module."""
        return self.folder.joinpath(*module.split(".")).with_suffix(".py")


def target_of(path: str) -> Target:
    """Return where the application `MODULE:NAME` is, below the working directory.

    Raises:
        NoApplicationFolderError: It has no such file.
    """
    module, _, value = path.partition(":")
    place = Target(Path.cwd(), module, value)
    if not place.file.is_file():
        raise NoApplicationFolderError(
            f"the application {path} is not in this folder ({place.file} is not there): go to the "
            "folder that has it"
        )
    return place
