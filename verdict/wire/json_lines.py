"""Values as JSON: one per line, and numbers with all their digits."""

import json
from base64 import b64encode
from decimal import Decimal
from math import isfinite
from typing import Any

from pydantic_core import to_json


def json_line(value: Any) -> bytes:
    """Return a value as JSON in UTF-8 without a line break; bytes become base64.

    Infinite numbers and NaN become texts, because JSON has no form for them.
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
    """Return a value that JSON has no form for as a text; bytes become base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value)


def exact_json(value: Any) -> bytes:
    """Return `value` as JSON in which a `Decimal` is a number with all its digits."""
    if isinstance(value, Decimal):
        return format(value, "f").encode()
    if isinstance(value, dict):
        return b"{%s}" % b",".join(to_json(str(k)) + b":" + exact_json(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return b"[%s]" % b",".join(map(exact_json, value))
    return to_json(value)
