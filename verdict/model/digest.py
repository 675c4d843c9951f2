"""What makes two commands the same command."""

import json
from hashlib import sha256

from pydantic_core import to_json

from verdict.model.message import Message

CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
FLAT = frozenset({int, str, bool, type(None)})  # of these, `to_json` writes the same bytes


def command_digest(payload: Message) -> bytes:
    """Return the SHA-256 over canonical JSON of the payload's type and non-default fields.

    JSON and Avro of one command agree, and a field added later with a default changes no old
    digest. The envelope is left out: a retry may say another deadline or expected version.
    """
    fields = payload.__pydantic_serializer__.to_python(payload, exclude_defaults=True)
    fields["type"] = type(payload).__name__
    if FLAT.issuperset(map(type, fields.values())):
        return sha256(to_json(dict(sorted(fields.items())))).digest()
    return sha256(CANONICAL.encode(fields).encode()).digest()
