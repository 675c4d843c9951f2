"""Clients that have answers copied for themselves, and read nothing else."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka import TopicPartition as KafkaPartition

from commands.order import CancelOrder
from commands.position import ClosePosition
from tests.application import APPLICATION
from tests.client.conftest import PARTITIONS, Responder
from tests.topics import drop, grow
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.client.client import Client
from verdict.client.errors import KafkaUnavailableError, OutcomeUnknownError
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

WAIT_S = 60


@pytest.fixture
def clients(broker: EmbeddedBroker, topics: Topics) -> Iterator[list[Client]]:
    """Return three, of which the last reads the answers to everybody; others had some before."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topics.replies, b"theirs", b"others", PARTITIONS - 1)
    assert producer.flush(60) == 0
    with ExitStack() as open_ones:
        yield [
            open_ones.enter_context(
                Client(APPLICATION, broker.bootstrap_servers, topics=topics, own_replies=own)
            )
            for own in (True, True, False)
        ]


class Watched:
    """A client's consumer, which its own thread alone may touch: others wait for a minute."""

    def __init__(self, client: Client) -> None:
        responses = client._responses
        self._consumer: Any = responses._consumer
        self.places: list[KafkaPartition] = []
        self.seeks: list[KafkaPartition] = []
        responses._consumer = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def incremental_assign(self, places: list[KafkaPartition]) -> None:
        self.places += places
        self._consumer.incremental_assign(places)

    def poll(self, timeout: float) -> Message | None:
        while self.seeks:
            self._consumer.seek(self.seeks.pop())
        found: Message | None = self._consumer.poll(timeout)
        return found

    def read(self) -> set[str]:
        """Return the topics of which a partition is read, each as often as it is."""
        found = self.places
        assert len(found) == len({(one.topic, one.partition) for one in found})
        return {f"{one.topic}:{sum(p.topic == one.topic for p in found)}" for one in found}


@pytest.mark.proves("C-12")
def test_each_hears_its_own_answers_though_all_ask_of_one_aggregate(
    clients: list[Client], responder: Responder, topics: Topics
) -> None:
    watched = [*map(Watched, clients)]
    asked = [
        (f"{number}-{of}", client.send("order-1", CancelOrder(), 1, command_id=f"{number}-{of}"))
        for number in range(20)
        for of, client in enumerate(clients)
    ]

    other = clients[0].send("order-1", ClosePosition(), 1)

    assert [pending.wait(WAIT_S).command_id for _, pending in asked] == [name for name, _ in asked]
    assert other.wait(WAIT_S).aggregate_type == "position"
    assert watched[0].read() == watched[1].read() == {f"{topics.replies}:1"}
    assert watched[2].read() == {f"{topics.responses('order')}:4"}


@pytest.mark.proves("C-12")
def test_a_client_that_was_cut_off_for_longer_than_replies_are_kept_goes_on(
    clients: list[Client], broker: EmbeddedBroker, responder: Responder, topics: Topics
) -> None:
    first, watched = clients[0], Watched(clients[0])
    first.send("order-1", CancelOrder(), 1).wait(WAIT_S)
    (place,) = watched.places
    with KafkaLog({"bootstrap.servers": broker.bootstrap_servers}) as log:
        at = TopicPartition(place.topic, place.partition)
        end = log.written([at])[at]
    drop(broker.bootstrap_servers, topics.replies, {place.partition: end})

    watched.seeks.append(KafkaPartition(*at, 0))  # where it stood at the cut

    assert (
        first.send("order-1", CancelOrder(), 1, command_id="next").wait(WAIT_S).command_id == "next"
    )


def test_a_reply_that_cannot_be_read_is_counted_and_the_outcome_unknown(
    clients: list[Client], responder: Responder, topics: Topics, broker: EmbeddedBroker
) -> None:
    client = clients[0]
    client.send("order-1", CancelOrder(), 1).wait(WAIT_S)
    responder.answers = lambda response: []
    lost = client.send("order-1", CancelOrder(), 1)
    client.flush()
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"}
    )
    producer.produce(topics.replies, b"garbage", client._responses._reply_to)
    producer.flush()

    with pytest.raises(OutcomeUnknownError):
        lost.wait(1)
    responder.answers = lambda response: [response]
    assert client.send("order-2", CancelOrder(), 1).wait(WAIT_S).status == "ACCEPTED"
    assert client.unreadable == 1


@pytest.mark.parametrize("grown", [("replies",), ("replies", "responses")])
def test_answers_are_heard_though_somebody_added_partitions(
    grown: tuple[str, ...], broker: EmbeddedBroker, responder: Responder, topics: Topics
) -> None:
    """The deciding side writes to the first ones, as before."""
    with Client(APPLICATION, broker.bootstrap_servers, topics=topics) as before:
        before.send("order-1", CancelOrder(), 1).wait(WAIT_S)
    for name in grown:
        topic = topics.replies if name == "replies" else topics.responses("order")
        grow(broker.bootstrap_servers, topic, PARTITIONS + 3)

    for number in range(5):  # names of their own, each on some partition
        with Client(
            APPLICATION, broker.bootstrap_servers, topics=topics, own_replies=True
        ) as client:
            name = f"c-{number}"
            answer = client.send("order-1", CancelOrder(), 1, command_id=name).wait(WAIT_S)
            assert answer.command_id == name


@pytest.mark.parametrize(("own", "topic"), [(True, "verdict.replies"), (False, "order.responses")])
def test_a_deployment_without_the_topic_is_named(
    broker: EmbeddedBroker, own: bool, topic: str
) -> None:
    nowhere = Topics(APPLICATION, prefix="nowhere.")
    with (
        Client(APPLICATION, broker.bootstrap_servers, topics=nowhere, own_replies=own) as client,
        pytest.raises(KafkaUnavailableError, match=rf"nowhere\.{topic} .*verdict topics create"),
    ):
        client.send("order-1", CancelOrder(), 1)
