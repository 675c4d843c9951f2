"""Where a materialised read model goes: a file, whole or not at all, or stdout."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from verdict.errors import VerdictError
from verdict.read_side.as_of.content import CompletionRecord


class Destination(Protocol):
    """Takes all records or none of them."""

    def check(self) -> None:
        """Fail before the work is done when it would be for nothing.

        Raises:
            VerdictError: It cannot be written to.
        """
        ...

    def write(self, completed: CompletionRecord) -> bool:
        """Write the records; tell whether they were not there already.

        Raises:
            VerdictError: They were not written.
        """
        ...


class FileDestination:
    """A file of lines, written beside its place and then moved there.

    Args:
        path: Of the file; what is there is replaced, and stays as it is until then.
        ours: Files and folders of the service's own, which nothing replaces.
    """

    def __init__(self, path: Path, ours: Iterable[Path] = ()) -> None:
        if not path.name:  # such as `/` and `.`
            raise VerdictError(f"{path} is a folder: name the file in it")
        self._path = path
        self._ours = [one.resolve() for one in ours]
        self._beside = path.with_name(f".{path.name}.{os.getpid()}.new")

    def check(self) -> None:
        """Fail when the folder does not take a file of that name, or the file is the service's."""
        whole = self._path.resolve()
        if any(whole.is_relative_to(one) for one in self._ours):
            raise VerdictError(
                f"{self._path} lies where the service keeps what is its own, which this would "
                "replace: name a file elsewhere with --to"
            )
        try:
            if self._path.is_dir():
                raise VerdictError(f"{self._path} is a folder: name the file in it")
            self._beside.touch()
            self._beside.unlink()
        except OSError as error:
            raise self._refused(error) from error

    def write(self, completed: CompletionRecord) -> bool:
        """Put the records in the file's place, on the disk."""
        try:
            with self._beside.open("wb") as file:
                file.writelines(record.line + b"\n" for record in completed.records())
                file.flush()
                os.fsync(file.fileno())
            self._beside.replace(self._path)
        except OSError as error:
            raise self._refused(error) from error
        finally:
            self._beside.unlink(missing_ok=True)
        return True

    def _refused(self, error: OSError) -> VerdictError:
        return VerdictError(
            f"{self._path} cannot be written ({error}): name another file with --to, or make it "
            "possible; what was there is there still"
        )


class StdoutDestination:
    """Prints the lines; whoever reads them knows by the progress record that it has them all."""

    def check(self) -> None:
        """Return, as it can be written to."""

    def write(self, completed: CompletionRecord) -> bool:
        """Print the records."""
        for record in completed.records():
            sys.stdout.write(record.line.decode() + "\n")
        return True
