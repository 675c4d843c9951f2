"""What is being done, on a terminal: a line that changes and goes away."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from verdict.wire.terminal import escape


@contextmanager
def show_progress(text: str) -> Iterator[Callable[[str], None]]:
    """Say what is being done, on stderr; give a function that says what is done next.

    Nothing in a text is taken for markup: names that others chose are in them.
    """
    with Console(stderr=True).status(Text(escape(text))) as status:
        yield lambda text: status.update(Text(escape(text)))
