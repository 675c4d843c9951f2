"""Records that should never have been sent, of every kind, for tests and for measuring a load."""

import json
from collections.abc import Callable, Iterator
from random import Random

from tests.application import newest
from tests.traffic import in_avro

# of every record there may be: no text in UTF-8, and more bytes than all else
HEADERS = [("retry_attempt", b"\xff\xfe"), ("theirs", b"\0" * 1_000_000), ("none", None)] + [
    (f"many-{n}", b"x") for n in range(1_000)
]

Sent = tuple[bytes | None, bytes | None]  # key, value

KEY = b"hostile-1"
WHOLE = 64 * 1024  # the command limit
DEPTH = 10_000
OVERSIZED = 900_000  # just under what a broker takes by default
ENDLESS_KEY = 3_000_000  # a few kilobytes for the broker, which counts compressed batches

# as Avro writes a length or a count: zigzag, then 7 bits a byte
ABSURD = (2**62, 2**40, 2**31, -1, -(2**31), -(2**62), -(2**63), 2**63 - 1)


def varint(number: int) -> bytes:
    """Return a long as Avro writes it."""
    rest, written = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*written, rest])


def envelope(payload: object, **fields: object) -> bytes:
    """Return a command in JSON that anybody could have sent by hand."""
    known = {"command_id": "h", "aggregate_id": KEY.decode(), "expected_version": "ANY"}
    return json.dumps(known | {"payload": payload} | fields).encode()


def avro() -> bytes:
    """Return a sound command in Avro."""
    payload = {"type": "CancelOrder", "cause": "why not"}
    fields = {"command_id": "h", "aggregate_id": KEY.decode(), "expected_version": "ANY"}
    return in_avro("order", fields | {"payload": payload})


def absurd_avro(random: Random) -> bytes:
    """Return a command in Avro in which one length, count or index is absurd."""
    value = avro()
    at = random.randrange(5, len(value))
    return value[:at] + varint(random.choice(ABSURD)) + value[at + random.randrange(2) :]


def flipped_avro(random: Random) -> bytes:
    """Return a command in Avro of which some bits are others, and perhaps the end is missing."""
    value = bytearray(avro())
    for _ in range(random.randint(1, 4)):
        value[random.randrange(len(value))] ^= 1 << random.randrange(8)
    return bytes(value[: random.randint(1, 2 * len(value))])


def flipped_json(random: Random) -> bytes:
    """Return a command in JSON of which some bytes are others."""
    value = bytearray(envelope({"type": "CancelOrder"}))
    for _ in range(random.randint(1, 4)):
        value[random.randrange(1, len(value))] = random.randrange(256)
    return bytes(value)


def under_another_id(random: Random) -> bytes:
    """Return a command whose schema id is unknown, or that of something else."""
    others = [newest(subject).id for subject in ("order_event", "response", "position_command")]
    wrong = random.choice([*others, 0, 99, 2**32 - 1])
    return b"\0" + wrong.to_bytes(4, "big") + avro()[5:]


def many_fields(random: Random) -> bytes:
    """Return a command of the greatest size with thousands of unknown fields."""
    fields = {f"f{n:x}": random.randrange(10) for n in range(4_000)}
    return envelope({"type": "CancelOrder"} | fields)


def garbage(random: Random) -> bytes:
    """Return bytes that are nothing at all."""
    return random.choice((b"", b"\xff", b"\0", b"\0\0\0\0\5")) + random.randbytes(
        random.randrange(200)
    )


# What a record can do wrong. Each must end as a dead letter or a rejection, and harm no other.
KINDS: dict[str, Callable[[Random], Sent]] = {
    "garbage": lambda random: (KEY, garbage(random)),
    "no key": lambda random: (None, envelope({"type": "CancelOrder"})),
    "no value": lambda random: (KEY, None),
    "neither": lambda random: (None, None),
    "key that is no text": lambda random: (b"\xff\xfe" + random.randbytes(3), garbage(random)),
    "key that is no text, sound value": lambda random: (
        b"\xff\xfe" + random.randbytes(3),
        envelope({"type": "CancelOrder"}),
    ),
    "another key": lambda random: (b"hostile-2", avro()),
    "wrong schema id": lambda random: (KEY, under_another_id(random)),
    "lists nested": lambda random: (KEY, b'{"a":' + b"[" * DEPTH + b"]" * DEPTH + b"}"),
    "objects nested": lambda random: (KEY, b'{"a":' * DEPTH + b"1" + b"}" * DEPTH),
    "payload nested": lambda random: (
        KEY,
        envelope({"type": "CancelOrder", "cause": 0})[:-3] + b"[" * DEPTH + b"]" * DEPTH + b"}}",
    ),
    "absurd counts": lambda random: (KEY, absurd_avro(random)),
    "flipped Avro": lambda random: (KEY, flipped_avro(random)),
    "flipped JSON": lambda random: (KEY, flipped_json(random)),
    "thousands of fields": lambda random: (KEY, many_fields(random)),
    "endless number": lambda random: (KEY, envelope({"type": "X"}, n=0)[:-2] + b"9" * 5_000 + b"}"),
    "rejected at full size": lambda random: (
        KEY,
        envelope({"type": "CancelOrder", "colour": "x" * (WHOLE - 200)}),
    ),
    "oversized": lambda random: (KEY, bytes([random.randrange(256)]) * OVERSIZED),
    "endless key": lambda random: (b"k" * ENDLESS_KEY, garbage(random)),
    "endless key, sound value": lambda random: (b"k" * ENDLESS_KEY, avro()),
}

# So that a load of them is about as many bytes as records: one of these weighs thousands of others.
HEAVY = {"oversized": 1, "endless key": 0.1, "endless key, sound value": 0.1,
         "lists nested": 5, "objects nested": 5, "payload nested": 5,
         "thousands of fields": 5, "rejected at full size": 5}  # fmt: skip
ORDINARY_WEIGHT = 200


def hostile(seed: int) -> Iterator[Sent]:
    """Yield (key, value) of hostile records without end, the same for the same seed.

    Every kind comes, those of many kilobytes rarely: on average a record has about 1 KiB. All of
    them are for the topic of order commands; mix them into a load of sound ones.
    """
    random = Random(seed)
    kinds = [*KINDS]
    weights = [HEAVY.get(kind, ORDINARY_WEIGHT) for kind in kinds]
    while True:
        yield KINDS[random.choices(kinds, weights)[0]](random)
