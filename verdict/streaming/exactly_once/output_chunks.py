"""Many output records in one value, on their way through Spark to the driver.

Spark would turn each record into a row, copy it, and turn it back into Arrow for the driver. For
records that stay opaque on the way, that costs the JVM as much as deciding costs Python.

A chunk is the size of its digested part, that part, and the values that no digest may see. In the
digested part each record is four lengths, topic, key, value and headers.
"""

from collections.abc import Iterable, Iterator
from struct import Struct

BYTES = 4 * 2**20  # passed by one record at most; any Spark takes it

LENGTHS = Struct(">iiii")
SIZE = Struct(">i")
NONE = -1  # a missing key or value is not an empty one
NOT_DIGESTED = -2  # a replay may give another value, which is therefore after the digested part

Record = tuple[str, bytes | None, bytes | None, str, bool]  # the fields of `OutputRecord`


def chunks(outputs: Iterable[Record]) -> Iterator[bytes]:
    """Yield outputs in their order, some megabytes at a time.

    The digest of all chunks is that of all records, wherever they are cut.
    """
    digested, behind, topics = bytearray(), bytearray(), dict[str, bytes]()
    for topic, key, value, headers, replayable in outputs:
        name = topics.get(topic) or topics.setdefault(topic, topic.encode())
        text, length = headers.encode(), _length(value)
        if not replayable:
            behind += SIZE.pack(length) + (value or b"")
            value, length = b"", NOT_DIGESTED
        lengths = LENGTHS.pack(len(name), _length(key), length, len(text))
        # at once, as many small pieces that wait to be joined leave the processor's cache
        digested += b"".join((lengths, name, key or b"", value or b"", text))
        if len(digested) + len(behind) >= BYTES:
            yield b"".join((SIZE.pack(len(digested)), digested, behind))
            digested, behind = bytearray(), bytearray()
    if digested:
        yield b"".join((SIZE.pack(len(digested)), digested, behind))


def digested(chunk: bytes) -> memoryview:
    """Return the part of a chunk that a digest is taken of."""
    (size,) = SIZE.unpack_from(chunk)
    return memoryview(chunk)[SIZE.size : SIZE.size + size]


def records_in(chunk: bytes) -> Iterator[Record]:
    """Yield the outputs in a chunk as plain tuples, which take half the time."""
    at, end = SIZE.size, SIZE.size + len(digested(chunk))
    behind, lengths, topics = end, LENGTHS.unpack_from, dict[bytes, str]()
    while at < end:
        of_topic, of_key, of_value, of_headers = lengths(chunk, at)
        at += LENGTHS.size
        name = chunk[at : (at := at + of_topic)]
        topic = topics.get(name) or topics.setdefault(name, name.decode())
        key = None if of_key < 0 else chunk[at : (at := at + of_key)]
        value = None if of_value < 0 else chunk[at : (at := at + of_value)]
        headers = chunk[at : (at := at + of_headers)].decode()
        if of_value != NOT_DIGESTED:
            yield topic, key, value, headers, True
        else:
            value, behind = _behind(chunk, behind)
            yield topic, key, value, headers, False


def _behind(chunk: bytes, at: int) -> tuple[bytes | None, int]:
    (size,) = SIZE.unpack_from(chunk, at)
    at += SIZE.size
    return (None, at) if size < 0 else (chunk[at : at + size], at + size)


def _length(part: bytes | None) -> int:
    return NONE if part is None else len(part)
