"""Values as JSON, one in a line, alike wherever they are shown."""

import json
from base64 import b64encode
from math import isfinite
from typing import Any


def json_line(value: Any) -> bytes:
    """Return a value as JSON in UTF-8, without a line's end; bytes become base64.

    A number that is infinite or none is its name as a text, as JSON has no form for it.
    """
    try:
        line = json.dumps(value, ensure_ascii=False, default=as_json, allow_nan=False)
    except ValueError:
        line = json.dumps(_without_nan(value), ensure_ascii=False, default=as_json)
    return line.encode(errors="backslashreplace")


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    return [_without_nan(one) for one in value] if isinstance(value, list | tuple) else value


def as_json(value: Any) -> Any:
    """Return what JSON has no form for as a text; bytes become base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value)
