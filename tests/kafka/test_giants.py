"""G-02: what Java's client dies of is found, and named by its place."""

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.oversized import OversizedRecord, oversized_records
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.skip_record import SkippedRanges

TOPIC = "giants.commands"
SECONDS = 60.0


@pytest.fixture(scope="module")
def kafka(broker: EmbeddedBroker) -> KafkaConfig:
    """Return a Kafka with a topic of three partitions, each with something else among few."""
    address = {"bootstrap.servers": broker.bootstrap_servers}
    admin = AdminClient({**address})
    admin.create_topics([NewTopic(TOPIC, 3)])[TOPIC].result(60)
    put(address, "none", 0, [b"a", b"b"])
    put(address, "gzip", 1, [b"a", b"\0" * 40_000_000, b"b"])
    put(address, "zstd", 2, [b"\0" * 120_000_000, b"a"])
    return KafkaConfig(settings=address)


def put(address: dict[str, str], codec: str, partition: int, values: list[bytes]) -> None:
    for value in values:
        packing = {"compression.type": codec, "message.max.bytes": 10**9}
        producer = Producer({**address, **packing, "queue.buffering.max.kbytes": 10**6})
        producer.produce(TOPIC, value, b"key", partition=partition)
        assert producer.flush(60) == 0


@pytest.mark.long
@pytest.mark.proves("C-11")
def test_records_that_unpack_to_too_much_are_named_and_no_others(kafka: KafkaConfig) -> None:
    found = oversized_records(kafka, {TOPIC: [0, 0, 0]}, 100, SECONDS)

    assert sorted(found, key=lambda one: one.source) == [
        OversizedRecord(Source(TOPIC, 1, 1), 40_000_003),
        OversizedRecord(Source(TOPIC, 2, 0), None),
    ]
    assert str(OversizedRecord(Source(TOPIC, 1, 1), 40_000_003)) == (
        "giants.commands:1:1 unpacks to 40,000,003 bytes"
    )


def test_only_what_comes_next_is_looked_at(kafka: KafkaConfig) -> None:
    assert oversized_records(kafka, {TOPIC: [0, 2, 1]}, 100, SECONDS) == []
    assert oversized_records(kafka, {TOPIC: [0, 0, 1]}, 1, SECONDS) == []


@pytest.mark.proves("C-11", "C-17")
def test_a_reader_goes_on_behind_what_cannot_be_unpacked_once_it_is_passed_over(
    kafka: KafkaConfig,
) -> None:
    whole = {TopicPartition(TOPIC, 2): OffsetRange(0, 2)}
    with KafkaLog(kafka.settings) as log:
        with pytest.raises(VerdictError, match=TOPIC):
            [*log.read(whole)]
        log.passed_over = SkippedRanges.of([(TOPIC, 2, 0, 1)])

        assert [message.value() for message in log.read(whole)] == [b"a"]
        assert [*log.read({TopicPartition(TOPIC, 2): OffsetRange(0, 1)})] == []
