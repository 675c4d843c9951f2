"""How the story is told: chapters, sentences, tables, and the checks of what they show."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

INDENT = 3
WIDTH = 100
WIDEST = 1 << 16  # of a table, whatever the console's width


class Voice:
    """Tells the story on `console`, counts the checks in `made`, and keeps those that failed."""

    def __init__(self, console: Console) -> None:
        self.made = 0
        self.failed: list[str] = []
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

    def typed(self, *arguments: str) -> None:
        """Show a call of verdict as somebody types it; one of several lines stands on its own."""
        words = (f'"{one}"' if " " in one else one for one in arguments)
        self.say("")
        for line in f"$ verdict {' '.join(words)}".splitlines():
            self.say(Text(line, "cyan"))

    def show(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print a table."""
        made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column in columns:
            made.add_column(column, no_wrap=True)
        for row in rows:
            made.add_row(*(one if isinstance(one, Text) else Text(str(one)) for one in row))
        console, usual = self._console, self._console.width
        free = console.options.update(max_width=WIDEST)
        # a search does not find an id or a message that is broken in the middle
        console.width = max(usual, Measurement.get(console, free, made).maximum + INDENT)
        console.print(Padding(made, (0, 0, 0, INDENT), expand=False))
        console.width = usual

    def expect(self, what: str, expected: Any, found: Any) -> None:
        """Check that what must be is what is found, and say so: `what`, or the difference."""
        self.made += 1
        if expected == found:
            self.say(Text(self._right, "green"), what)
            return
        self.failed.append(f"{what}: expected {expected}, found {found}")
        self.say(Text(self._wrong, "bold red"), self.failed[-1])

    @contextmanager
    def waiting(self, what: str) -> Iterator[Callable[[str], None]]:
        """Say on a terminal's last line what is awaited, and for how long; give how to say more."""
        console = Console(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        ) as shown:
            task = shown.add_task(what)
            yield lambda text: shown.update(task, description=text)
