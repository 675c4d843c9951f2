"""Where Java's and our producers put a key: murmur2, as Kafka's `DefaultPartitioner` uses it."""

from struct import Struct

M = 0x5BD1E995
SEED = 0x9747B28C
WORD = 0xFFFFFFFF
WORDS = Struct("<I").iter_unpack


def murmur2(key: bytes) -> int:
    """Return the unsigned 32-bit hash (Austin Appleby's MurmurHash2 with Kafka's seed).

    Source: `Utils.murmur2` of Apache Kafka, which librdkafka's `rd_murmur2` follows.
    """
    whole = len(key) & ~3
    result = SEED ^ len(key)
    for (word,) in WORDS(key[:whole]):
        mixed = word * M & WORD
        result = (result * M ^ (mixed ^ mixed >> 24) * M) & WORD
    if rest := key[whole:]:
        result = (result ^ int.from_bytes(rest, "little")) * M & WORD
    result = (result ^ result >> 13) * M & WORD
    return result ^ result >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a record with this key in a topic with so many partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
