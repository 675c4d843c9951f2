"""Ends count what open transactions hide, and who leaves one open is found; on a real broker."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from tests.application import APPLICATION
from tests.topics import create
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.operations.status.write_side_status import ends_and_open, ends_of, log_of
from verdict.settings.load import settings_alone
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

TOPICS = Topics(APPLICATION, prefix="log-ends.", partitions=2)
COMMANDS, EVENTS = TOPICS.commands("order"), TOPICS.events("order")
ONE, OTHER = TopicPartition(COMMANDS, 0), TopicPartition(COMMANDS, 1)


@pytest.fixture
def log(broker: EmbeddedBroker) -> Iterator[KafkaLog]:
    """Return that of a deployment whose commands of orders are on two partitions."""
    create(broker.bootstrap_servers, TOPICS, [COMMANDS, EVENTS])
    with log_of(settings_alone(APPLICATION, bootstrap_servers=broker.bootstrap_servers)) as log:
        yield log


@pytest.fixture
def sender(broker: EmbeddedBroker) -> Iterator[Producer]:
    """Return one with a transaction that it has begun."""
    servers = broker.bootstrap_servers
    sender = Producer({"bootstrap.servers": servers, "transactional.id": "log-ends"})
    sender.init_transactions(60)
    sender.begin_transaction()
    yield sender
    sender.abort_transaction(60)


@pytest.mark.proves("U-05")
def test_a_transaction_that_stays_open_is_behind_the_end_and_is_named(
    log: KafkaLog, sender: Producer
) -> None:
    before = ends_of(log, [COMMANDS])
    sender.produce(COMMANDS, b"one", partition=0)
    sender.flush(60)

    ends, stays_open = ends_and_open(log, [COMMANDS, "nothing"])

    assert ends == {ONE: before[ONE] + 1, OTHER: before[OTHER]} == ends_of(log, [COMMANDS])
    assert stays_open == {ONE: before[ONE]}


@pytest.mark.proves("U-05")
def test_on_topics_that_verdict_writes_to_one_counts_once_ours_would_have_ended(
    log: KafkaLog, sender: Producer
) -> None:
    before = ends_of(log, [EVENTS])
    sender.produce(EVENTS, b"one", partition=1)
    sender.flush(60)
    place = TopicPartition(EVENTS, 1)

    assert ends_and_open(log, [EVENTS], [EVENTS], limit_s=3600)[1] == {}
    assert ends_and_open(log, [EVENTS], [EVENTS], limit_s=-60)[1] == {place: before[place]}


def test_one_that_has_ended_is_not(log: KafkaLog, sender: Producer) -> None:
    sender.produce(COMMANDS, b"one", partition=0)
    sender.commit_transaction(60)
    sender.begin_transaction()

    assert ends_and_open(log, [COMMANDS])[1] == {}
