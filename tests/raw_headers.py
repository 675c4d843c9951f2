"""Records whose headers have names that are no text: Python's client writes none, others may."""

import ctypes
from pathlib import Path

import confluent_kafka

# of librdkafka's rd_kafka_vtype_t, by which the arguments of rd_kafka_producev are told apart
TOPIC_OBJECT, MESSAGE_FLAGS, VALUE, HEADERS, END = 2, 7, 4, 10, 0
COPY = 2
PRODUCER = 0


def put_with_header_named(servers: str, topic: str, name: bytes, value: bytes) -> None:
    """Put a record on a topic, with a header of that name, by the library below the client."""
    [library] = (Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs").glob(
        "librdkafka*"
    )
    rdkafka = ctypes.CDLL(str(library))
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    for made in ("conf_new", "new", "topic_new", "headers_new"):
        getattr(rdkafka, f"rd_kafka_{made}").restype = pointer
    said = ctypes.create_string_buffer(512)
    settings = pointer(rdkafka.rd_kafka_conf_new())
    rdkafka.rd_kafka_conf_set(
        settings, text(b"bootstrap.servers"), text(servers.encode()), said, size(512)
    )
    producer = pointer(rdkafka.rd_kafka_new(PRODUCER, settings, said, size(512)))
    place = pointer(rdkafka.rd_kafka_topic_new(producer, text(topic.encode()), None))
    headers = pointer(rdkafka.rd_kafka_headers_new(size(1)))
    rdkafka.rd_kafka_header_add(
        headers, text(name), ctypes.c_ssize_t(len(name)), text(b"v"), ctypes.c_ssize_t(1)
    )
    failed = rdkafka.rd_kafka_producev(
        producer, TOPIC_OBJECT, place, MESSAGE_FLAGS, COPY,
        VALUE, text(value), size(len(value)), HEADERS, headers, END,
    )  # fmt: skip
    assert failed == 0
    assert rdkafka.rd_kafka_flush(producer, 60_000) == 0
    rdkafka.rd_kafka_topic_destroy(place)
    rdkafka.rd_kafka_destroy(producer)
