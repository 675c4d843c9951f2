"""The digest by which two commands are the same."""

import json
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any

from verdict.model.message import CANONICAL_MODE, Message


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_base64
)
TEXTS: dict[type, Callable[[Any], str]] = {  # as `CANONICAL` writes them
    int: str,
    str: encode_basestring,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): lambda value: "null",
}
ALWAYS = object()  # equal to nothing: this field is written whatever it holds
FOR_JSON = {"when_used": "json"}  # not for digests
NO_FIELD: list[tuple[str, str, object]] = [("", "", None)]


def command_digest(payload: Message) -> bytes:
    """Return the SHA-256 over canonical JSON of the payload's type and non-default fields.

    JSON and Avro of one command agree, and a field added later with a default changes no old
    digest. The envelope is left out: a retry may say another deadline or expected version.
    """
    try:
        text = _of_plain_values(payload)
    except KeyError:
        text = _canonical(payload)
    return sha256(text.encode()).digest()


def _canonical(payload: Message) -> str:
    serializer = payload.__pydantic_serializer__
    fields = serializer.to_python(payload, mode=CANONICAL_MODE, exclude_defaults=True)
    fields["type"] = type(payload).__name__
    return CANONICAL.encode(fields)


def _of_plain_values(payload: Message) -> str:
    """Return what `_canonical` does, in half the time."""
    kind = payload.__class__
    fields = {**payload.__dict__, "type": kind.__name__}
    texts = [
        key + TEXTS[value.__class__](value)
        for name, key, default in _plain(kind)
        if (value := fields[name]) != default
    ]
    return f"{{{','.join(texts)}}}"


@cache
def _plain(kind: type[Message]) -> list[tuple[str, str, object]]:
    """Return (field, the text before its value, its default), sorted by field."""
    fields = kind.model_fields
    made = any(field.default_factory for field in fields.values())
    if made or kind.model_computed_fields or _says_how(kind.__pydantic_core_schema__):
        return NO_FIELD
    defaults = {name: ALWAYS if one.is_required() else one.default for name, one in fields.items()}
    return [
        (name, f"{encode_basestring(name)}:", default)
        for name, default in sorted((defaults | {"type": ALWAYS}).items())
    ]


def _says_how(schema: Any) -> bool:
    """Return whether a class says itself how `_canonical` writes a field."""
    if isinstance(schema, dict):
        if "serialization_exclude" in schema:
            return True
        if schema.get("serialization", FOR_JSON).get("when_used") != "json":
            return True
        return any(map(_says_how, schema.values()))
    return isinstance(schema, list | tuple) and any(map(_says_how, schema))
