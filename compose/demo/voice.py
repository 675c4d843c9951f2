"""How the story is told: chapters, sentences, tables, and the checks of what they show."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from compose.demo.checks import Checks
from verdict.cli.output import add_rows, table

INDENT = 3
WIDTH = 100


class Voice:
    """Tells the story on `console`, and keeps the checks."""

    def __init__(self, console: Console) -> None:
        self.checks = Checks()
        self._console = console
        self._console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
        self._chapters = 0
        utf = console.encoding.startswith("utf")
        self._right, self._wrong = ("✓ ", "✗ ") if utf else ("ok ", "NOT OK ")

    def begin(self, title: str, why: str) -> None:
        """Open a chapter: what is about to happen, and why it matters."""
        self._chapters += 1
        self.say("")
        self._console.print(Text(f"{self._chapters}  {title}", "bold"))
        self.tell(why)

    def tell(self, text: str) -> None:
        """Say something in whole sentences, wrapped."""
        for line in textwrap.wrap(text, self._console.width - INDENT, break_on_hyphens=False):
            self.say(line)

    def say(self, *parts: str | Text) -> None:
        """Print one line as it is; an empty one without parts."""
        line = Text.assemble(" " * INDENT, *parts)
        line.rstrip()
        self._console.print(line, soft_wrap=True)

    def show(
        self, columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[str] = ()
    ) -> None:
        """Print a table; the columns in `numbers` are set to the right."""
        filled = add_rows(table(*columns, numbers=numbers), rows)
        self._console.print(Padding(filled, (0, 0, 0, INDENT), expand=False))

    def expect(self, what: str, expected: Any, found: Any) -> None:
        """Check something and say so.

        Args:
            what: The rule, as a statement that must be true.
            expected: What must be.
            found: What is.
        """
        difference = self.checks.expect(what, expected, found)
        if difference is None:
            self.say(Text(self._right, "green"), what)
        else:
            self.say(Text(self._wrong, "bold red"), str(difference))
