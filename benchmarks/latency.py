"""How long a sender waits: commands at a steady rate against `verdict up`, a process of its own.

The load is open-loop: each command has its time whether or not the ones before are answered, and
waits from that time on, so a stall is felt by all that it delays.
"""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import quantiles

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.results import Result
from benchmarks.workload import command
from tests.kit.service import Deployment
from verdict.wire.records import decode_response

WARM_UP_S = 15.0
LAST_ANSWERS_S = 30.0
ORDERS = 5000


def latency(servers: str, folder: Path, shards: int, seconds: float) -> Iterator[Result]:
    """Yield the latency at 500 commands/s, and of isolated commands at 2/s."""
    (folder / f"shards-{shards}").mkdir(parents=True)
    deployment = Deployment(servers, f"latency-{shards}", folder / f"shards-{shards}" / "data")
    deployment.environment["VERDICT_SHARDS"] = str(shards)
    with deployment.running():
        for rate in (500, 2):
            waits = measured(servers, deployment, rate, seconds)
            cut = quantiles(waits, n=100)
            yield {
                "what": "latency",
                "commands_per_s": rate,
                "shards": shards,
                "commands": len(waits),
                **{f"p{p}_ms": round(cut[p - 1] * 1000) for p in (50, 95, 99)},
                "max_ms": round(max(waits) * 1000),
            }


def measured(servers: str, deployment: Deployment, rate: float, seconds: float) -> list[float]:
    """Send at `rate` per second; return the seconds that each command of the measurement waited."""
    topics, due = deployment.topics, schedule(rate, seconds)
    answered: dict[str, float] = {}
    ended = threading.Event()
    consumer = _consumer(servers, topics.responses("order"), topics.partitions)
    receiver = threading.Thread(target=_receive, args=(consumer, answered, ended))
    receiver.start()
    try:
        sent = send(servers, topics.commands("order"), due)
        deadline = time.monotonic() + LAST_ANSWERS_S
        while len(answered) < len(sent) and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        ended.set()
        receiver.join()
    assert len(answered) >= len(sent), f"{len(answered)} of {len(sent)} commands are answered"
    warm = min(sent.values()) + WARM_UP_S
    return [answered[name] - at for name, at in sent.items() if at >= warm]


def schedule(rate: float, seconds: float) -> list[float]:
    """Return when each command is due, in seconds from the start, at random with a mean rate."""
    random, at, due = Random(1), 0.0, []
    while at < WARM_UP_S + seconds:
        due.append(at)
        at += random.uniform(0.5, 1.5) / rate  # even spacing would fall into step with the batches
    return due


def send(servers: str, topic: str, due: list[float]) -> dict[str, float]:
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "linger.ms": 1,
            "partitioner": "murmur2_random",
        }
    )
    random, run, versions = Random(os.urandom(8)), os.urandom(4).hex(), [0] * ORDERS
    sent: dict[str, float] = {}
    began = time.monotonic()
    for number, at in enumerate(due):
        order = random.randrange(ORDERS)
        one = command(f"{run}-{order}", versions[order], number, random)
        versions[order] += 1
        while (left := began + at - time.monotonic()) > 0:
            producer.poll(min(left, 0.01))
        sent[one.command_id] = began + at
        producer.produce(topic, one.value, one.key)
    assert producer.flush(30) == 0
    return sent


def _consumer(servers: str, topic: str, partitions: int) -> Consumer:
    """Return a consumer of what is published from now on."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
        }
    )
    places = [TopicPartition(topic, number) for number in range(partitions)]
    for place in places:
        place.offset = consumer.get_watermark_offsets(place, timeout=10)[1]
    consumer.assign(places)
    return consumer


def _receive(consumer: Consumer, answered: dict[str, float], ended: threading.Event) -> None:
    """Note when each response can be read."""
    while not ended.is_set():
        for message in consumer.consume(500, 0.01):
            assert message.error() is None, message.error()
            value = message.value()
            assert value is not None
            answered[decode_response(value).command_id] = time.monotonic()
    consumer.close()
