"""Partitions that somebody adds, and states of other teams with any times."""

import json
from collections.abc import Callable
from itertools import count

import pytest
from confluent_kafka import Producer

from tests.kit.log import opened
from tests.rebuild.deployment import Deployment, reaches
from tests.topics import OF_SENDERS, alter, grow
from verdict.read_side.live.live_projections import LiveProjections

pytestmark = pytest.mark.kafka

TIMES = (-9_300_000_000_000_000, -5, 1_795_262_400_000)
NUMBERS = count()


def carry(deployment: Deployment, partition: int) -> None:
    """Let the other team write a state of Zoe's at each of the times."""
    producer = Producer({"bootstrap.servers": deployment.servers})
    topic = deployment.topics.named("share-holders")
    for at in TIMES:
        name = f"s-{next(NUMBERS)}"
        held = {"id": name, "client": "zoe", "ticker": "FB", "amount": 1, "exchange": "NYSE"}
        producer.produce(topic, json.dumps(held).encode(), name, partition, timestamp=at)
    assert producer.flush(60) == 0


def holders(deployment: Deployment, wanted: int) -> Callable[[], bool]:
    """Return what tells whether Zoe holds so many positions."""
    query = "SELECT positions FROM us_holder_from_state WHERE client = 'zoe'"
    return lambda: deployment.select(query) == [(wanted,)]


def shown(deployment: Deployment, *clients: str) -> Callable[[], bool]:
    """Return what tells whether these clients, and no others, are holders."""
    query = "SELECT client FROM us_holder ORDER BY client"
    return lambda: deployment.select(query) == [(client,) for client in clients]


@pytest.mark.proves("P-09")
def test_added_partitions_and_any_time_stop_no_projection(
    deployment: Deployment, running: Callable[..., LiveProjections]
) -> None:
    """One that was added to a topic of events stopped them all: `list index out of range`."""
    events, states = deployment.topics.events("position"), deployment.topics.named("share-holders")
    alter(deployment.servers, states, OF_SENDERS)

    carry(deployment, 0)
    first = running()
    reaches(first, holders(deployment, 3))
    grow(deployment.servers, events, 4)
    grow(deployment.servers, states, 4)
    carry(deployment, 3)
    deployment.write(*deployment.happens("p-1", opened("ada")))
    reaches(first, holders(deployment, 6))
    reaches(first, shown(deployment, "ada"))
    first.stop()
    grow(deployment.servers, events, 5)
    grow(deployment.servers, states, 5)
    carry(deployment, 4)
    deployment.write(*deployment.happens("p-2", opened("bob")))
    second = running()
    reaches(second, holders(deployment, 9))
    reaches(second, shown(deployment, "ada", "bob"))

    assert deployment.select("SELECT error FROM projection_stopped") == []
    assert deployment.select("SELECT global_position FROM event_archive ORDER BY 1") == [(1,), (2,)]
