"""Headers are read of whatever record, and none ends who reads it."""

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.raw_headers import put_with_header_named
from verdict.adapters.kafka.message_headers import headers_of
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.partitions import OffsetRange, TopicPartition

OFTEN = 100  # until Python takes short cuts there
TOPIC = "oddly-named-headers"


def test_a_name_that_is_no_text_lets_no_header_be_had_and_ends_nobody(
    broker: EmbeddedBroker,
) -> None:
    servers = broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
    put_with_header_named(servers, TOPIC, b"\xff\xfe", b"odd")
    put_with_header_named(servers, TOPIC, b"sound", b"plain")

    with KafkaLog({"bootstrap.servers": servers}) as log:
        read = [*log.read({TopicPartition(TOPIC, 0): OffsetRange(0, 2)})]

    assert [one.value() for one in read] == [b"odd", b"plain"]
    several = [*(headers_of(read[1]) for _ in range(OFTEN)), *map(headers_of, read)]
    odd, plain = several[-2:]
    assert odd is None
    assert plain is not None
    assert [name for name, _ in plain] == ["sound"]
