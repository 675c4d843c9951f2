"""Values as JSON, one in a line, alike wherever they are shown."""

import json
from base64 import b64encode
from typing import Any


def json_line(value: Any) -> bytes:
    """Return a value as JSON in UTF-8, without a line's end; bytes become base64."""
    line = json.dumps(value, ensure_ascii=False, default=as_json)
    return line.encode(errors="backslashreplace")


def as_json(value: Any) -> Any:
    """Return what JSON has no form for as a text; bytes become base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value)
