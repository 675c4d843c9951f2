"""JSON in which numbers have all of their digits, whichever reader comes for them."""

from decimal import Decimal
from typing import Any

from pydantic_core import to_json


def exact_json(value: Any) -> bytes:
    """Return `value` as JSON; a `Decimal` in a dict or list is a number, and every digit stays."""
    if isinstance(value, Decimal):
        return format(value, "f").encode()
    if isinstance(value, dict):
        return b"{%s}" % b",".join(to_json(str(k)) + b":" + exact_json(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return b"[%s]" % b",".join(map(exact_json, value))
    return to_json(value)
