import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.partitions import murmur2, partition_of

# from UtilsTest.testMurmur2 of Apache Kafka
JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", JAVA)
def test_keys_hash_as_in_java(key: bytes) -> None:
    assert murmur2(key) == JAVA[key] % 2**32


@pytest.mark.proves("C-07")
@pytest.mark.long
def test_keys_go_where_a_producer_puts_them(broker: EmbeddedBroker) -> None:
    topic, partitions = "murmur2-of-keys", 7
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    settings = {"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"}
    producer = Producer(settings)
    placed: dict[bytes, int | None] = {}

    def place(error: object, message: Message) -> None:
        placed[message.key() or b""] = message.partition()

    keys = [b"\xff" * length for length in range(1, 20)]
    keys += [f"order-{number}-é".encode() for number in range(200)]
    for key in keys:
        producer.produce(topic, b"", key, on_delivery=place)
    producer.flush()

    assert placed == {key: partition_of(key, partitions) for key in keys}
