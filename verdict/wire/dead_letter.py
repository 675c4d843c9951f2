"""A record that could not be handled, kept with its bytes."""

from dataclasses import dataclass

from verdict.model.message import Hash, Instant
from verdict.model.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """What arrived and why it could not be handled.

    `bytes` is the whole value up to the command limit, else its beginning (and then it cannot be
    replayed); `length` and `sha256` are of the whole value. `key` is the record's key as it was, up
    to the longest aggregate id; of a longer one its beginning, and then `key_length` and
    `key_sha256` are of the whole key, and it cannot be replayed either.
    """

    source: Source
    error: str
    key: bytes | None
    bytes: bytes | None
    length: int
    sha256: Hash
    received_at: Instant
    key_length: int | None = None
    key_sha256: Hash | None = None
