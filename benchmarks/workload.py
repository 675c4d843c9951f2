"""The commands that a benchmark sends: orders placed, then modified again and again."""

from bisect import bisect
from collections.abc import Iterator, Mapping
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from confluent_kafka import Producer

from commands.order import ModifyOrder, PlaceOrder
from tests.application import encode_command
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope

AGGREGATES = 100_000
SEED = 1
STALE = 0.02  # of all commands; the version that they expect has passed
ISSUED_AT = 1_795_000_000_000  # any time of day will do, in ms
ACTOR = "service checkout, region eu-central-1"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
PLAIN: Mapping[str, Any] = {}
ZIPF = 1.1  # the exponent: the first of 100,000 aggregates gets about 13 % of the commands


class Sent(NamedTuple):
    """A command as it is produced; about 200 bytes."""

    command_id: str
    key: bytes | None
    value: bytes | None


def commands(count: int, aggregates: int, zipf: bool, seed: int) -> Iterator[Sent]:
    """Yield `count` commands for `aggregates` orders, the same for the same seed."""
    random = Random(seed)
    versions = [0] * aggregates
    weights = [*accumulate(1 / (rank + 1) ** ZIPF for rank in range(aggregates))] if zipf else []
    for number in range(count):
        if zipf:
            order = bisect(weights, random.random() * weights[-1])
        else:
            order = random.randrange(aggregates)
        stale = versions[order] > 0 and random.random() < STALE
        yield command(f"order-{order:09d}", versions[order] - stale, number, random)
        versions[order] += not stale


def command(order_id: str, version: int, number: int, random: Random) -> Sent:
    """Return the command that places an order (at version 0) or modifies it.

    Args:
        order_id: Which order.
        version: That the sender expects.
        number: Makes the quantity differ from one command to the next.
        random: Draws the command's id.
    """
    payload: Command = ModifyOrder(quantity=1 + number % 1_000_000)
    if version == 0:
        payload = placing(number)
    envelope = CommandEnvelope(
        command_id=str(UUID(int=random.getrandbits(128), version=4)),
        aggregate_id=order_id,
        expected_version=version,
        issued_at=ISSUED_AT,
        actor=ACTOR,
        traceparent=TRACE,
        payload={},
    )
    value = encode_command("order", envelope, payload)
    return Sent(envelope.command_id, order_id.encode(), value)


def placing(number: int) -> PlaceOrder:
    """Return what places an order; `number` makes client and quantity differ from the next."""
    return PlaceOrder(
        client=f"client-{number % 1000}",
        ticker="AAPL",
        side="BUY",
        quantity=1 + number % 1_000_000,
        limit_price_cents=12_345,
    )


def fill(servers: str, topic: str, sent: Iterator[Sent], packing: Mapping[str, Any] = PLAIN) -> int:
    """Write the commands, with more settings of a producer; return a value's mean size in bytes."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "linger.ms": 50,
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": 1_000_000,
            **packing,
        }
    )
    number = size = 0
    for number, one in enumerate(sent, 1):
        producer.produce(topic, one.value, one.key)
        size += len(one.value or b"")
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
    return size // number
