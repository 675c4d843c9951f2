"""Reads hostile records with little memory: `python -m tests.decide.devour SEED RECORDS`.

A process of its own, because what goes wrong here may end it: a stack overflow, an allocation of
2**40 bytes, a loop over 2**62 items. It ends with 0 when nothing of that happened.
"""

import resource
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from random import Random

import psutil

from tests.application import APPLICATION, CATALOG, codec, receive
from tests.decide.desk import command_record
from tests.hostile import ABSURD, KINDS, WHOLE, hostile, varint
from tests.model import Record
from verdict.wire.codec import DecodeError
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import encode
from verdict.wire.response import Response

SPARE_BYTES = 256 * 2**20  # of address space, more than what is there when it begins
SECONDS = 120  # of the processor's time, for all records together
PEAK_PER_BYTE = 100  # an empty list of JSON takes 3 bytes, in Python 64
PEAK = 512 * 1024  # for a short one
KEPT = 16 * 2**20  # by caches of bounded size


def random_values(seed: int) -> list[bytes]:
    """Return bodies for any schema: bytes at random, absurd numbers among them, repetitions."""
    random, values = Random(seed), []
    for _ in range(400):
        parts = [
            random.choice((
                varint(random.choice(ABSURD)),
                varint(random.randrange(-3, 40)),
                random.randbytes(random.randrange(8)),
                random.choice((b"\0", b"\2", b"\1", b"\xff")) * random.choice((1, 100, 60_000)),
            ))
            for _ in range(random.randrange(1, 8))
        ]  # fmt: skip
        values.append(b"".join(parts)[:WHOLE])
    return values


def read(aggregate_type: str, key: bytes | None, value: bytes | None) -> None:
    """Read a record as the operator does, and encode what is answered."""
    record = Record(f"{aggregate_type}.commands", 0, 0, 1, key, value)
    received = receive(aggregate_type, command_record(record, WHOLE))
    if isinstance(received, DeadLetter | Response):
        encode(received)


@contextmanager
def bounded(value: bytes | None) -> Iterator[None]:
    """Check what is allocated within the block, at its peak, against the length of `value`."""
    before, _ = tracemalloc.get_traced_memory()
    assert before < KEPT, f"{before} bytes are kept of the records so far"
    tracemalloc.reset_peak()
    yield
    allowed = PEAK + PEAK_PER_BYTE * min(len(value or b""), WHOLE)
    peak = tracemalloc.get_traced_memory()[1] - before
    assert peak < allowed, f"{peak} bytes, not {allowed}, for {(value or b'')[:100]!r}"


def main(seed: int, records: int) -> None:
    """Read `records` hostile records, and random bodies with every schema there is."""
    readers = {version.id: codec(version.subject) for version in CATALOG.schemas.by_id.values()}
    sent, bodies, random = list(islice(hostile(seed), records)), random_values(seed), Random(seed)
    for kind in KINDS.values():  # what is made at the first use is not the record's
        for aggregate_type in APPLICATION.aggregate_types:
            read(aggregate_type, *kind(random))
    used = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_BYTES, used + SPARE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    tracemalloc.start()
    for key, value in sent:
        for aggregate_type in APPLICATION.aggregate_types:
            with bounded(value):
                read(aggregate_type, key, value)
    for body in bodies:
        for schema_id, reader in readers.items():
            with bounded(body), suppress(DecodeError):
                reader.decode(b"\0" + schema_id.to_bytes(4, "big") + body)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
