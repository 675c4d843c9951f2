import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from queue import Queue

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pydantic import ValidationError

from commands.order import CancelOrder, ModifyOrder, PlaceOrder
from commands.position import ClosePosition
from tests.application import APPLICATION, decode_command
from tests.client.conftest import PARTITIONS, Responder, accepted
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.client import responses
from verdict.client.async_client import AsyncClient
from verdict.client.client import Client
from verdict.client.errors import (
    CommandTooLargeError,
    KafkaUnavailableError,
    NotDeliveredError,
    OutcomeUnknownError,
    UnreadableResponseError,
)
from verdict.client.pending import Pending
from verdict.model.command_envelope import Expectation
from verdict.wire.codec import HEADER_BYTES, MAGIC
from verdict.wire.records import encode
from verdict.wire.response import Response, Status
from verdict.wire.schemas.files import FIRST_FREE_ID
from verdict.wire.topics import Topics

ORDER = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=5, limit_price_cents=100)
PATIENCE_S = 30
UNKNOWN = MAGIC + (FIRST_FREE_ID - 1).to_bytes(4, "big")  # given long after these


@pytest.fixture
def client(broker: EmbeddedBroker, topics: Topics) -> Iterator[Client]:
    with Client(APPLICATION, broker.bootstrap_servers, topics) as client:
        yield client


def sent_bytes(broker: EmbeddedBroker, topic: str) -> list[tuple[int, bytes]]:
    """Return (partition, value) of all that is on a topic."""
    options = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader"}
    consumer = Consumer(options)
    places = [TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)]
    wanted = sum(consumer.get_watermark_offsets(place)[1] for place in places)
    consumer.assign(places)
    found: list[tuple[int, bytes]] = []
    while len(found) < wanted:
        for message in consumer.consume(wanted - len(found), 1):
            partition, value = message.partition(), message.value()
            assert partition is not None
            assert value is not None
            found.append((partition, value))
    consumer.close()
    return found


def unused_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.proves("C-12")
def test_the_outcome_of_a_command_comes_back_to_its_sender(
    client: Client, responder: Responder
) -> None:
    outcome = client.send("order-1", ORDER, expected_version=0).wait(PATIENCE_S)

    assert outcome.status == Status.ACCEPTED
    assert (outcome.aggregate_id, outcome.to_version) == ("order-1", 1)


def test_a_rejection_is_returned_and_not_raised(client: Client, responder: Responder) -> None:
    rejected = {"status": Status.REJECTED, "reason": "VERSION_CONFLICT", "message": "at version 1"}
    responder.answers = lambda response: [response.model_copy(update=rejected)]

    outcome = client.send("order-1", ORDER, expected_version=3).wait(PATIENCE_S)

    assert (outcome.status, outcome.reason) == (Status.REJECTED, "VERSION_CONFLICT")


@pytest.mark.proves("C-15")
def test_the_envelope_carries_what_the_sender_said(
    broker: EmbeddedBroker, topics: Topics, client: Client
) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    said = {"command_id": "c-1", "correlation_id": "flow", "causation_id": "cause", "actor": "ada"}
    deadline = datetime(2030, 1, 1, tzinfo=UTC)
    client.send(
        "order-1", ModifyOrder(quantity=7), Expectation.EXISTS,
        deadline=deadline, traceparent=trace, **said,
    )  # fmt: skip
    client.flush()

    [(_, value)] = sent_bytes(broker, topics.commands("order"))
    sent = decode_command("order", value)
    assert sent.pop("issued_at") > 0
    assert sent == said | {
        "aggregate_id": "order-1",
        "expected_version": "EXISTS",
        "deadline": 1_893_456_000_000,
        "traceparent": trace,
        "payload": {"type": "ModifyOrder", "quantity": 7, "limit_price_cents": None},
    }


@pytest.mark.proves("C-07")
def test_commands_of_one_aggregate_lie_in_one_partition_in_the_order_of_sending(
    broker: EmbeddedBroker, topics: Topics, client: Client
) -> None:
    for number in range(200):
        client.send(f"order-{number % 5}", ORDER, Expectation.ANY, command_id=f"c-{number}")
    client.flush()

    placed: dict[str, list[tuple[int, int]]] = {}
    for partition, value in sent_bytes(broker, topics.commands("order")):
        sent = decode_command("order", value)
        number = int(sent["command_id"].removeprefix("c-"))
        placed.setdefault(sent["aggregate_id"], []).append((partition, number))
    assert len(placed) == 5
    for records in placed.values():
        assert len({partition for partition, _ in records}) == 1
        assert records == sorted(records)


@pytest.mark.proves("C-12")
def test_two_sendings_of_one_id_in_flight_each_get_their_own_answer(
    client: Client, responder: Responder
) -> None:
    responder.answers = lambda response: [
        response.model_copy(update={"message": str(response.source)})
    ]
    sendings = [client.send("order-1", ORDER, 0, command_id="c-1") for _ in range(5)]

    outcomes = [sending.wait(PATIENCE_S) for sending in sendings]

    assert [outcome.source for outcome in outcomes] == [sending.source for sending in sendings]
    assert [outcome.duplicate for outcome in outcomes] == [False, True, True, True, True]


@pytest.mark.proves("C-12")
def test_an_outcome_that_does_not_come_is_unknown_and_can_be_awaited_again(
    broker: EmbeddedBroker, topics: Topics, client: Client
) -> None:
    pending = client.send("order-1", ORDER, expected_version=0)
    client.flush()
    with pytest.raises(OutcomeUnknownError, match="unknown, ask again with the same command id"):
        pending.wait(0.2)
    late = Responder(broker.bootstrap_servers, topics)
    late.start()

    assert pending.wait(PATIENCE_S).status == Status.ACCEPTED
    late.stop()


def test_a_callback_may_send_to_another_aggregate_type(
    client: Client, responder: Responder
) -> None:
    """It runs in the only thread that could begin to hear the answers."""
    following: Queue[Pending] = Queue()
    client.send("x", ORDER, expected_version="NO_STREAM").add_done_callback(
        lambda placed: following.put(
            client.send("x", ClosePosition(), placed.wait(0).to_version or 0)
        )
    )

    assert following.get(timeout=PATIENCE_S).wait(PATIENCE_S).expected_version == 1


@pytest.mark.proves("C-12")
def test_closing_a_client_ends_every_wait_and_calls_callbacks(
    broker: EmbeddedBroker, topics: Topics
) -> None:
    done: Queue[Pending] = Queue()

    with Client(APPLICATION, broker.bootstrap_servers, topics) as client:
        pending = client.send("order-1", ORDER, expected_version=0)
        pending.add_done_callback(done.put)

    assert done.get_nowait() is pending
    with pytest.raises(OutcomeUnknownError, match="closed before the outcome came"):
        pending.wait(0)
    with pytest.raises(ValueError, match="client that is closed"):
        client.send("order-2", ORDER, expected_version=0)


@pytest.mark.proves("C-12")
def test_tasks_of_an_event_loop_share_a_client(
    broker: EmbeddedBroker, topics: Topics, responder: Responder
) -> None:
    """With a queue for a tenth of them, and types of aggregates that were not followed before."""

    async def send_all() -> list[Response]:
        small = {"queue.buffering.max.messages": "50"}
        async with AsyncClient(APPLICATION, broker.bootstrap_servers, topics, small) as client:
            orders = (client.send(f"order-{n}", ORDER, "NO_STREAM") for n in range(250))
            closings = (client.send(f"p-{n}", ClosePosition(), 1) for n in range(250))
            return await asyncio.gather(*orders, *closings)

    outcomes = asyncio.run(send_all())

    assert [one.aggregate_id for one in outcomes] == [
        *(f"order-{n}" for n in range(250)),
        *(f"p-{n}" for n in range(250)),
    ]


def test_threads_may_share_a_client(client: Client, responder: Responder) -> None:
    def send(name: str) -> list[Pending]:
        return [client.send(f"{name}-{number}", ORDER, 0) for number in range(250)]

    with ThreadPoolExecutor() as threads:
        sent = [*threads.map(send, "abcd")]

    for name, pendings in zip("abcd", sent, strict=True):
        outcomes = [pending.wait(PATIENCE_S) for pending in pendings]
        assert [outcome.aggregate_id for outcome in outcomes] == [f"{name}-{n}" for n in range(250)]


def test_a_full_queue_makes_the_sender_wait_and_fails_nothing(
    broker: EmbeddedBroker, topics: Topics
) -> None:
    small = {"queue.buffering.max.messages": "100"}
    with Client(APPLICATION, broker.bootstrap_servers, topics, small) as client:
        for number in range(3_000):
            client.send(f"order-{number}", ORDER, expected_version=0)

    assert len(sent_bytes(broker, topics.commands("order"))) == 3_000


def test_what_the_deciding_side_would_not_read_is_not_sent(
    broker: EmbeddedBroker, topics: Topics, client: Client
) -> None:
    with pytest.raises(CommandTooLargeError, match=r"has \d+ bytes, at most 65536 are read"):
        client.send("order-1", CancelOrder(cause="x" * 65_536), expected_version=1)

    client.flush()
    assert sent_bytes(broker, topics.commands("order")) == []


@pytest.mark.parametrize("expected", [-1, True, "SOME"])
def test_an_expected_version_is_a_count_or_a_known_word(client: Client, expected: int) -> None:
    with pytest.raises(ValidationError, match="must be an integer from 0, or one of ANY"):
        client.send("order-1", ORDER, expected_version=expected)


def test_an_unreachable_broker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "ANSWER_S", 1.0)
    address = unused_address()
    client = Client(APPLICATION, address, config={"socket.connection.setup.timeout.ms": "1000"})

    with pytest.raises(KafkaUnavailableError, match=f"cannot reach Kafka at {address}"):
        client.send("order-1", ORDER, expected_version=0)
    client.close()


def test_a_command_that_kafka_does_not_take_is_reported_to_the_first_caller(
    broker: EmbeddedBroker, topics: Topics
) -> None:
    """The limit of the producer stands for any refusal of Kafka's."""
    strict = {"message.max.bytes": "1000"}
    client = Client(APPLICATION, broker.bootstrap_servers, topics, strict)
    with pytest.raises(NotDeliveredError, match="command 'c-1' to order 'order-1' was not sent"):
        client.send("order-1", CancelOrder(cause="x" * 2_000), 1, command_id="c-1")
    client.close()


def test_a_lost_command_without_a_waiter_is_reported_by_flush(
    broker: EmbeddedBroker, topics: Topics
) -> None:
    client = Client(APPLICATION, broker.bootstrap_servers, topics, {"linger.ms": "20000"})
    client.send("order-1", ORDER, expected_version=0)
    client._producer.producer.purge()  # as if Kafka had not taken it for as long as it may

    with pytest.raises(NotDeliveredError, match="send it again with the same command id"):
        client.flush()
    client.close()


@pytest.mark.proves("G-08")
def test_a_response_that_cannot_be_read_costs_one_waiting_and_is_counted(
    broker: EmbeddedBroker, topics: Topics, client: Client
) -> None:
    """G-08: garbage, a tombstone, and an unknown schema of which not even a part fits."""
    sent = [client.send(f"order-{n}", ORDER, expected_version=0) for n in range(4)]
    client.flush()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    answer = encode(response_to(sent[3]))
    for pending, value in zip(sent, [b"no response", None, UNKNOWN + b"\x07", answer], strict=True):
        producer.produce(topics.responses("order"), value, pending.aggregate_id.encode())
    producer.flush()

    said = []
    for pending in sent[:3]:
        with pytest.raises(UnreadableResponseError) as caught:
            pending.wait(PATIENCE_S)
        said.append(str(caught.value))
    assert "'order-0' cannot be read (value has no Confluent header" in said[0]
    assert "'order-1' cannot be read (it has no value)" in said[1]
    assert "if the service is newer than this client, bring the client up to date" in said[2]
    assert sent[3].wait(PATIENCE_S).source == sent[3].source
    assert client.unreadable == 3


@pytest.mark.proves("G-08")
def test_a_client_reads_the_responses_of_a_newer_service(
    broker: EmbeddedBroker, topics: Topics, client: Client
) -> None:
    """G-08: the service is upgraded first; its responses have one field more, and a new id."""
    pending = client.send("order-1", ORDER, expected_version=0)
    client.flush()
    expected = response_to(pending)
    newer = UNKNOWN + encode(expected)[HEADER_BYTES:] + b"\x0aadded"
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topics.responses("order"), newer, b"order-1")
    producer.flush()

    assert pending.wait(PATIENCE_S) == expected
    assert client.unreadable == 0


def response_to(pending: Pending) -> Response:
    sent = {
        "command_id": pending.command_id,
        "aggregate_id": pending.aggregate_id,
        "payload": {"type": "PlaceOrder"},
        "expected_version": 0,
        "correlation_id": None,
    }
    assert pending.source is not None
    return accepted(sent, pending.aggregate_type, pending.source)


FORKING = """
import os, sys
from commands.order import DeleteOrder
from compose.application import app
from verdict.client.client import Client
from verdict.client.errors import ForkedClientError
from verdict.wire.topics import Topics

servers, prefix = sys.argv[1:]
with Client(app, servers, Topics(app, prefix=prefix, partitions=4)) as client:
    pending = client.send("order-1", DeleteOrder(), expected_version=1)
    if (child := os.fork()) == 0:
        for attempt in (
            lambda: client.send("order-2", DeleteOrder(), expected_version=1),
            lambda: pending.wait(30),
            client.flush,
        ):
            try:
                attempt()
            except ForkedClientError as error:
                print(error, flush=True)
        client.close()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    client.send("order-3", DeleteOrder(), expected_version=1)
"""


@pytest.mark.proves("G-08")
@pytest.mark.process
def test_a_client_raises_at_once_in_a_forked_child_and_says_what_to_do(
    broker: EmbeddedBroker, topics: Topics
) -> None:
    """In a process of its own, as this one has threads that a fork would lose."""
    command = [sys.executable, "-W", "ignore", "-c", FORKING]
    done = subprocess.run(
        [*command, broker.bootstrap_servers, topics.prefix],
        capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == 3
    assert all("make a Client of its own in each process, after the fork" in one for one in said)
    assert len(sent_bytes(broker, topics.commands("order"))) == 2  # the parent's
