"""A deciding side of a few lines: it answers what a test tells it to answer."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.application import APPLICATION, decode_command
from tests.topics import create
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.source import Source
from verdict.wire.headers import REPLY_TO
from verdict.wire.partitions import partition_of
from verdict.wire.records import encode
from verdict.wire.response import Response, Status
from verdict.wire.topics import Topics

PARTITIONS = 4
TYPES = ("order", "position")  # of which commands are sent here
ELECTING = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,  # the broker has not heard of it yet
    KafkaError._UNKNOWN_PARTITION,  # nor of these
}

Answers = Callable[[Response], list[Response]]


def accepted(sent: dict[str, Any], aggregate_type: str, source: Source) -> Response:
    """Return the response to a command that was accepted as the aggregate's first."""
    return Response(
        command_id=sent["command_id"],
        command_digest=b"d" * 32,
        aggregate_type=aggregate_type,
        aggregate_id=sent["aggregate_id"],
        command_type=sent["payload"]["type"],
        status=Status.ACCEPTED,
        duplicate=False,
        from_version=0,
        to_version=1,
        event_ids=["e-1"],
        reason=None,
        message=None,
        details={},
        expected_version=sent["expected_version"],
        actual_version=None,
        actual_state=None,
        retriable=False,
        correlation_id=sent["correlation_id"] or sent["command_id"],
        source=source,
        decided_at=0,
        handler_version="1",
        last_hash=b"h" * 32,
    )


class Responder(threading.Thread):
    """Reads the commands topics and answers on the responses topic, until it is stopped."""

    def __init__(self, servers: str, topics: Topics) -> None:
        super().__init__(daemon=True)
        self.received: list[dict[str, Any]] = []
        self.answers: Answers = lambda response: [response]
        self._topics = topics
        self._servers = servers
        self._stopping = threading.Event()
        self._seen: dict[str, Response] = {}

    def run(self) -> None:
        options = {"bootstrap.servers": self._servers, "group.id": "responder"}
        consumer = Consumer(options | {"fetch.wait.max.ms": 10})
        producer = Producer({"bootstrap.servers": self._servers, "linger.ms": 0})
        topics = map(self._topics.commands, TYPES)
        consumer.assign([TopicPartition(t, p, 0) for t in topics for p in range(PARTITIONS)])
        while not self._stopping.is_set():
            for message in consumer.consume(500, 0.02):
                value, topic = message.value(), message.topic()
                assert value is not None
                assert topic is not None
                aggregate_type = self._topics.aggregate_of(topic)
                sent = decode_command(aggregate_type, value)
                self.received.append(sent)
                reply_to = dict(message.headers() or ()).get(REPLY_TO)
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                for response in self.answers(
                    self._decided(sent, aggregate_type, Source(topic, partition, offset))
                ):
                    key, value = response.aggregate_id.encode(), encode(response)
                    topic = self._topics.responses(aggregate_type)
                    producer.produce(topic, value, key, partition_of(key, PARTITIONS))
                    if isinstance(reply_to, bytes):
                        own = partition_of(reply_to, PARTITIONS)
                        producer.produce(self._topics.replies, value, reply_to, own)
            producer.poll(0)
        producer.flush()
        consumer.close()

    def _decided(self, sent: dict[str, Any], aggregate_type: str, source: Source) -> Response:
        if earlier := self._seen.get(sent["command_id"]):
            return earlier.model_copy(update={"duplicate": True, "source": source})
        response = accepted(sent, aggregate_type, source)
        self._seen[response.command_id] = response
        return response

    def stop(self) -> None:
        self._stopping.set()
        self.join()


@pytest.fixture
def topics(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Topics:
    """The topics of this test alone, created."""
    prefix = re.sub(r"\W", "-", request.node.name)[:80]
    topics = Topics(APPLICATION, prefix=f"{prefix}.", partitions=PARTITIONS)
    responses = map(topics.responses, TYPES)
    names = [*map(topics.commands, TYPES), *responses, topics.replies]
    create(broker.bootstrap_servers, topics, names)
    await_leaders(broker.bootstrap_servers, names)
    return topics


def await_leaders(servers: str, names: Sequence[str]) -> None:
    """Return when every partition answers, which takes a moment after its creation."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "asking"})
    places = [TopicPartition(name, number) for name in names for number in range(PARTITIONS)]
    while places:
        try:
            consumer.get_watermark_offsets(places[-1], timeout=30)
            places.pop()
        except KafkaException as error:
            if error.args[0].code() not in ELECTING:
                raise
    consumer.close()


@pytest.fixture
def responder(broker: EmbeddedBroker, topics: Topics) -> Iterator[Responder]:
    """A deciding side that accepts everything."""
    thread = Responder(broker.bootstrap_servers, topics)
    thread.start()
    yield thread
    thread.stop()
