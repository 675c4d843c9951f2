"""Headers as a table holds them: JSON that people can read, and from which none is lost.

An array of `[name, value]`: a text, null, or `{"base64": …}` for what is no text in UTF-8.
"""

import json
from base64 import b64decode, b64encode
from typing import Any

from verdict.wire.dead_letter_record import Pairs


def as_json(headers: Pairs) -> str:
    """Return headers as one text."""
    return json.dumps([[name, _shown(value)] for name, value in headers])


def from_json(text: str) -> Pairs:
    """Return the headers in a text of `as_json`."""
    return tuple((name, _value(shown)) for name, shown in json.loads(text))


def _shown(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


def _value(shown: Any) -> bytes | None:
    if shown is None:
        return None
    return b64decode(shown["base64"]) if isinstance(shown, dict) else str(shown).encode()
