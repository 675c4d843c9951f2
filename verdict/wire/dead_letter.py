"""The value of a dead letter of verdict."""

from dataclasses import dataclass
from typing import Annotated

from verdict.model.message import Base64, Hash, Instant
from verdict.model.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A record that could not be processed, and why.

    `bytes` is the value, or the beginning of one over the limit; `length` and `sha256` are those of
    the whole value. `key` is the key, or the beginning of one that is longer than any aggregate id;
    then `key_length` and `key_sha256` describe the whole key. A cut record cannot be replayed.
    """

    source: Source
    error: str
    key: Annotated[bytes | None, Base64()]
    bytes: Annotated[bytes | None, Base64()]
    length: int
    sha256: Hash
    received_at: Instant
    key_length: int | None = None
    key_sha256: Hash | None = None
