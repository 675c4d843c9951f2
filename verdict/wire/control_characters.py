"""Texts of others for a terminal: characters that would control it are spelled out."""

import re

from rich.text import Text

# control characters, such as ESC and CSI, which begin commands of a terminal; and those that change
# the direction of writing, so that a line shows something else
STEERS = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
STEERING = re.compile(f"[{STEERS}]")
STEERING_LINES = re.compile(f"(?![\n\t])[{STEERS}]")
IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escape(text: str) -> str:
    r"""Return a text without control characters: `\x1b` for ESC, `\n` for a line break."""
    return STEERING.sub(_spelled, text)


def escape_lines(text: str) -> str:
    """Return a text as `escape` does, but keep its lines."""
    return STEERING_LINES.sub(_spelled, text)


def escape_text(text: Text) -> Text:
    """Return a styled text as `escape_lines` does; a changed text loses its styles."""
    plain = escape_lines(text.plain)
    return text if plain == text.plain else Text(plain)


def escape_json(line: str) -> str:
    """Return the same JSON without the control characters that JSON allows."""
    return IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def _spelled(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]
