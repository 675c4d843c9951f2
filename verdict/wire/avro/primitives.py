"""Avro's smallest values as bytes, of which records are joined."""

from functools import lru_cache

SMALLEST, LARGEST = -(2**63), 2**63 - 1

# two groups of seven bits at a time: what ends an integer, and what others follow
BITS, GROUPS = 14, 2**14
REST = GROUPS - 1
MORE = [bytes((two & 0x7F | 0x80, two >> 7 | 0x80)) for two in range(GROUPS)]
LAST = [bytes((two & 0x7F | 0x80, two >> 7) if two > 0x7F else (two,)) for two in range(GROUPS)]
SMALL = LAST[::2]  # most lengths and versions, by their values


def write_long(value: object) -> bytes:
    """Write an integer, zigzag and in groups of seven bits.

    Said to be an int, a bool would come in as one where this is compiled.

    Raises:
        TypeError: It is no integer; a bool is none either.
        ValueError: It takes more than 64 bits.
    """
    if type(value) is not int:
        raise TypeError(f"an integer is needed, not {value!r}")
    if not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{value} takes more than 64 bits")
    rest = value << 1 ^ value >> 63
    if rest < GROUPS:
        return LAST[rest]
    written = MORE[rest & REST]
    rest >>= BITS
    while rest >= GROUPS:
        written += MORE[rest & REST]
        rest >>= BITS
    return written + LAST[rest]


def write_text(value: str) -> bytes:
    """Write a text: its length in bytes, and UTF-8."""
    return write_bytes(value.encode())


def write_bytes(value: bytes) -> bytes:
    """Write bytes: how many they are, and themselves."""
    return write_long(len(value)) + value


def text_in(slice: bytes) -> bytes:
    """Return the text in a slice that `write_text` could have written, without its length."""
    if slice[0] <= 0x7F:
        return slice[1:]
    begin = 2
    while slice[begin - 1] > 0x7F:
        begin += 1
    return slice[begin:]


# what comes with many records: names of types, topics and versions, the time of a batch
known_text = lru_cache(maxsize=4096)(write_text)
known_long = lru_cache(maxsize=4096)(write_long)
