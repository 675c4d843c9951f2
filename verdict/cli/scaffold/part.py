"""A part of an application that is new, with its files, and what adds it to the application."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ScaffoldPart:
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
        """The two lines that a person adds to the application."""
        return f"from {self.module} import {self.name}", f"{self.listed}=(…, {self.name}),"
