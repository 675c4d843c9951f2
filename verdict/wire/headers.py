"""Kafka headers as one text: what a column of a table, and a digest, can hold.

Names and values stand in turn with a NUL between them, which no id, name or time of ours holds.
"""

from collections.abc import Mapping
from itertools import chain

Headers = dict[str, str]
NUL = "\0"


def joined(headers: Mapping[str, str]) -> str:
    """Return headers, none of which holds a NUL, as one text."""
    return NUL.join(chain.from_iterable(headers.items()))


def pairs(text: str) -> list[tuple[str, str | bytes | None]]:
    """Return the headers in a text of `joined`, typed as Kafka's client takes them."""
    if not text:
        return []
    parts = iter(text.split(NUL))
    return list(zip(parts, parts, strict=True))
