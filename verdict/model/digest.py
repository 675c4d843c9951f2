"""What makes two commands the same command."""

import json
from hashlib import sha256

from verdict.model.message import Message

CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def command_digest(payload: Message) -> bytes:
    """Return the SHA-256 over canonical JSON of the payload's type and non-default fields.

    JSON and Avro of one command agree, and a field added later with a default changes no old
    digest. The envelope is left out: a retry may say another deadline or expected version.
    """
    fields = payload.model_dump(exclude_defaults=True)
    fields["type"] = type(payload).__name__
    return sha256(CANONICAL.encode(fields).encode()).digest()
