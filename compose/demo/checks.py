"""What the demo shows is compared with what it must be; every difference is kept for the end."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not what it must be."""

    what: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}"


class Checks:
    """Counts the comparisons and keeps those that failed."""

    def __init__(self) -> None:
        self.made = 0
        self.differences: list[Difference] = []

    def expect(self, what: str, expected: Any, found: Any) -> Difference | None:
        """Compare, and return the difference if there is one.

        Args:
            what: The rule, as a statement that must be true.
            expected: What must be.
            found: What is.
        """
        self.made += 1
        if expected == found:
            return None
        difference = Difference(what, expected, found)
        self.differences.append(difference)
        return difference
