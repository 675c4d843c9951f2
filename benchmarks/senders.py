"""What senders can push: commands that one Python client sends, and eight at once.

No decider runs meanwhile: this measures the client, and the broker that takes them.
"""

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

from benchmarks.results import Result
from benchmarks.workload import ACTOR, placing
from tests.application import APPLICATION
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.client.client import Client
from verdict.wire.topics import Topics

CLIENTS = (1, 8)
WARMING = 1_000  # commands of each client that are not counted


class Pushed(NamedTuple):
    """When a client began and ended, on the clock that all processes share, and what it computed.

    All in seconds.
    """

    began: float
    ended: float
    cpu: float


def senders(servers: str, count: int) -> Iterator[Result]:
    """Yield the commands a second that clients send until Kafka has them all."""
    for clients in CLIENTS:
        topics = Topics(APPLICATION, prefix=f"senders-{clients}-")
        TopicAdmin({"bootstrap.servers": servers}, topics).create_missing()
        pushed = _together(servers, topics, clients, count // clients)
        seconds = max(one.ended for one in pushed) - min(one.began for one in pushed)
        yield {
            "what": "senders",
            "clients": clients,
            "per_s": round(count / seconds),
            "cpu_us": round(sum(one.cpu for one in pushed) / count * 1e6),
        }


def _together(servers: str, topics: Topics, clients: int, count: int) -> list[Pushed]:
    """Let so many processes send at the same time; should one end before its time, all do."""
    spawned = multiprocessing.get_context("spawn")  # a client does not outlive a fork
    with ProcessPoolExecutor(clients, spawned, _meet_at, (spawned.Barrier(clients),)) as pool:
        return [*pool.map(partial(_push, servers, topics, count), range(clients))]


_meeting: list[Barrier] = []


def _meet_at(barrier: Barrier) -> None:
    """Keep where the clients wait for each other: only a process that begins can be given it."""
    _meeting.append(barrier)


def _push(servers: str, topics: Topics, count: int, number: int) -> Pushed:
    with Client(APPLICATION, servers, topics) as client:
        _send(client, f"warm-{number}", WARMING)
        _meeting[-1].wait()
        began, cpu = time.monotonic(), time.process_time()
        _send(client, f"order-{number}", count)
        return Pushed(began, time.monotonic(), time.process_time() - cpu)


def _send(client: Client, name: str, count: int) -> None:
    """Place so many orders, and return when Kafka has them all."""
    for number in range(count):
        client.send(f"{name}-{number}", placing(number), expected_version=0, actor=ACTOR)
    client.flush()
