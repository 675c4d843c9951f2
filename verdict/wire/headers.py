"""Kafka headers as one text for columns and digests, and the header for replies.

A NUL, which none of our ids, names and times contains, separates names and values. A sender gives
its name in the header `reply_to`, 1 to 128 bytes. The topic of replies then gets a copy of the
response, without headers and with this name as key.
"""

from collections.abc import Mapping
from itertools import chain

Headers = dict[str, str]
NUL = "\0"


def joined(headers: Mapping[str, str]) -> str:
    """Return headers without a NUL as one text."""
    return NUL.join(chain.from_iterable(headers.items()))


def pairs(text: str) -> list[tuple[str, str | bytes | None]]:
    """Return the headers of a text of `joined`, for Kafka's client."""
    if not text:
        return []
    parts = iter(text.split(NUL))
    return list(zip(parts, parts, strict=True))


REPLY_TO = "reply_to"
REPLY_TO_BYTES = 128


def reply_name(header: bytes | None) -> bytes | None:
    """Return the valid reply name in a header, or None."""
    return header if header and len(header) <= REPLY_TO_BYTES else None
