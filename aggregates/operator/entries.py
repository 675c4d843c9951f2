"""Entries as bytes: how log entries and pages are written."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from struct import Struct

HASH_BYTES = 16
KEPT = Struct(">q")  # expires_at, in front of the value
LISTED = Struct(f">{HASH_BYTES}sI")
GONE = 0xFFFFFFFF

KeyHash = bytes
Kept = bytes


def key_hash(key: bytes) -> KeyHash:
    """Return 16 bytes of BLAKE2b: entries are found by it, and nobody can make two keys collide."""
    return blake2b(key, digest_size=HASH_BYTES).digest()


def kept(value: bytes, expires_at: int) -> Kept:
    """Return a value with its expiry in front."""
    return KEPT.pack(expires_at) + value


def value_of(entry: Kept) -> bytes:
    """Return the value without its expiry."""
    return bytes(entry[KEPT.size :])


def expires_at(entry: Kept) -> int:
    """Return when an entry may be forgotten, 0 for never."""
    expiry: int = KEPT.unpack_from(entry)[0]
    return expiry


def pack(entries: Mapping[KeyHash, Kept], gone: Iterable[KeyHash] = ()) -> bytes:
    """Return entries, and keys that are gone, as one blob."""
    parts: list[bytes] = []
    for key, entry in entries.items():
        parts += (LISTED.pack(key, len(entry)), entry)
    parts += (LISTED.pack(key, GONE) for key in gone)
    return b"".join(parts)


def unpack(blob: bytes) -> Iterator[tuple[KeyHash, Kept | None]]:
    """Yield the entries of a blob in their order; None stands for a key that is gone."""
    at, end = 0, len(blob)
    while at < end:
        key, length = LISTED.unpack_from(blob, at)
        at += LISTED.size
        if length == GONE:
            yield key, None
        else:
            yield key, blob[at : at + length]
            at += length
