"""Entries as bytes: how log entries and pages are written."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from struct import Struct

HASH_BYTES = 16
KEPT = Struct(">q")  # when it expires by the state's clock, in front of the value
LISTED = Struct(f">{HASH_BYTES}sI")
GONE = 0xFFFFFFFF

KeyHash = bytes
StoredEntry = bytes


def key_hash(key: bytes) -> KeyHash:
    """Return 16 bytes of BLAKE2b: it finds entries, and no sender can make two keys collide."""
    return blake2b(key, digest_size=HASH_BYTES).digest()


def kept(value: bytes, expires_at: int) -> StoredEntry:
    """Return a value with its expiry in front."""
    return KEPT.pack(expires_at) + value


def value_of(entry: StoredEntry) -> bytes:
    """Return the value without its expiry."""
    return entry[KEPT.size :]


def expired(entries: Iterable[tuple[KeyHash, StoredEntry]], now: int) -> list[KeyHash]:
    """Return the keys of entries that may be forgotten at `now`.

    Times that are not negative sort as their bytes do, so nothing is unpacked.
    """
    never, bound = KEPT.pack(0), KEPT.pack(now)
    return [key for key, entry in entries if never < entry[: KEPT.size] < bound]


def pack(entries: Iterable[tuple[KeyHash, StoredEntry]], gone: Iterable[KeyHash] = ()) -> bytes:
    """Return entries, and keys that are gone, as one blob."""
    head = LISTED.pack
    parts = [head(key, len(entry)) + entry for key, entry in entries]
    parts += [head(key, GONE) for key in gone]
    return b"".join(parts)


def unpack(blob: bytes) -> Iterator[tuple[KeyHash, StoredEntry | None]]:
    """Yield the entries of a blob in their order; None means that the key is gone."""
    at, end, size, listed = 0, len(blob), LISTED.size, LISTED.unpack_from
    while at < end:
        key, length = listed(blob, at)
        at += size
        if length == GONE:
            yield key, None
        else:
            yield key, blob[at : at + length]
            at += length
