"""A reader of topics is told what it cannot have, and jumps over nothing."""

import socket
from collections.abc import Iterator
from unittest.mock import MagicMock

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.event_log.followable import Followable
from tests.raw_headers import put_with_header_named
from verdict.adapters.kafka import reader as kafka_log
from verdict.adapters.kafka.connection import AdminConnection
from verdict.adapters.kafka.errors import RecordsDroppedError, TopicMissingError
from verdict.adapters.kafka.reader import FIRST_CHUNK, KafkaLog, headers_of
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import UnreachableError, VerdictError
from verdict.wire.partitions import OffsetRange, TopicPartition

TOPIC = "read-by-position"
FIVE, NONE, MANY = (TopicPartition(TOPIC, number) for number in range(3))
PATIENCE_S = 30.0
MOST = 3 * FIRST_CHUNK
ODD, OFTEN = "oddly-named-headers", 100  # until Python takes short cuts there
IMPATIENCE_S = 5.0


@pytest.fixture(scope="module")
def address(broker: EmbeddedBroker) -> dict[str, str]:
    """Return where a topic has five records, a second apart, none, and many, by partition."""
    address = {"bootstrap.servers": broker.bootstrap_servers}
    admin = AdminClient({**address})
    admin.create_topics([NewTopic(TOPIC, 3, 1)])[TOPIC].result(PATIENCE_S)
    producer = Producer({**address})
    for number in range(5):
        producer.produce(TOPIC, b"", partition=0, timestamp=1000 * (number + 1))
    for number in range(MOST):
        producer.produce(TOPIC, b"%d" % number, b"rare" if number < 2 else b"", partition=2)
    assert producer.flush(PATIENCE_S) == 0
    return address


@pytest.fixture
def log(address: dict[str, str]) -> Iterator[KafkaLog]:
    with KafkaLog(address) as opened:
        yield opened


def test_all_partitions_are_returned_at_once(log: KafkaLog) -> None:
    assert log.places([TOPIC]) == [FIVE, NONE, MANY]
    assert log.bounds([MANY, NONE, FIVE]) == {
        FIVE: OffsetRange(0, 5), NONE: OffsetRange(0, 0), MANY: OffsetRange(0, MOST),
    }  # fmt: skip
    assert log.bounds([]) == {}
    assert log.exists(TOPIC)
    assert TOPIC in log.topics()
    assert not log.exists("nowhere")


@pytest.mark.parametrize("others", [[], [TOPIC]])
def test_a_missing_topic_is_named(log: KafkaLog, others: list[str]) -> None:
    with pytest.raises(VerdictError, match="no topic nowhere: run `verdict topics create`"):
        log.places([*others, "nowhere"])


@pytest.mark.parametrize(("millis", "offset"), [(0, 0), (3000, 2), (3001, 3), (5000, 4), (5001, 5)])
def test_a_time_is_found_or_the_end(log: KafkaLog, millis: int, offset: int) -> None:
    assert log.first_since([FIVE, NONE], millis) == {FIVE: offset, NONE: 0}


def test_the_last_record_that_is_wanted_is_found_however_far_back_it_lies(log: KafkaLog) -> None:
    whole = log.bounds([MANY])[MANY]

    rare = log.last(MANY, whole, lambda message: message.key() == b"rare")
    newest = log.last(MANY, whole, lambda message: True)

    assert rare is not None
    assert newest is not None
    assert (rare.offset(), newest.offset()) == (1, MOST - 1)
    assert log.last(MANY, OffsetRange(2, whole.end), lambda m: m.key() == b"rare") is None
    assert log.last(NONE, OffsetRange(0, 0), lambda message: True) is None


@pytest.mark.parametrize("most", [1, 50, 10_000])
def test_a_follower_gets_each_record_once_whatever_it_asks_in_between(
    log: KafkaLog, most: int
) -> None:
    found: list[tuple[int, int]] = []
    reached = {NONE: 0, MANY: 5}
    for records, spans in log.follow(reached, most, 10**9):
        assert len(records) <= most
        for place, span in spans.items():
            assert span.start == reached[place]
            reached[place] = span.end
        found += [(one.partition() or 0, one.offset() or 0) for one in records]
        log.places([TOPIC])
        log._last_failure()  # as a list of topics that is late does
        if reached[MANY] == MOST:
            break

    assert found == [(2, at) for at in range(5, MOST)]


def test_what_is_in_an_open_transaction_is_written_and_not_committed(
    address: dict[str, str],
) -> None:
    """And whoever needs all that was begun waits for its end, or is told in whose way it is."""
    topic = f"{TOPIC}.open"
    admin = AdminClient({**address})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(PATIENCE_S)
    places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    producer = Producer({**address, "transactional.id": topic})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for number in range(2):
        producer.produce(topic, b"", partition=1, timestamp=1000 * (number + 1))
    assert producer.flush(PATIENCE_S) == 0

    with KafkaLog(address, PATIENCE_S) as log:
        assert log.bounds(places) == {places[0]: OffsetRange(0, 0), places[1]: OffsetRange(0, 0)}
        assert log.written(places) == {places[0]: 0, places[1]: 2}
        assert log.first_since(places, 1500) == {places[0]: 0, places[1]: 1}
    with (
        # enough for a busy broker to answer in: it is the transaction that shall be too late
        KafkaLog(address, IMPATIENCE_S) as impatient,
        pytest.raises(
            UnreachableError,
            match=rf"no copy: a transaction on {topic}:1 has been open for {IMPATIENCE_S:g} s",
        ),
    ):
        impatient.await_settled(places, "no copy")
    producer.commit_transaction(PATIENCE_S)
    with KafkaLog(address, PATIENCE_S) as log:
        log.await_settled(places, "no copy")

        assert [m.offset() for m in log.read(log.bounds(places))] == [0, 1]


@pytest.mark.parametrize("seconds", [0.3, None])
def test_a_silent_kafka_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, seconds: float | None
) -> None:
    monkeypatch.setattr(kafka_log, "ANSWER_S", 0.3)
    monkeypatch.setattr(kafka_log, "SILENT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    within = "" if seconds is None else " within 0.3 s"

    with (
        KafkaLog({"bootstrap.servers": address}, seconds) as log,
        pytest.raises(UnreachableError, match=f"Kafka at {address}.*{within} .*Connection refused"),
    ):
        log.topics()
    with (
        KafkaLog({"bootstrap.servers": address}) as log,
        pytest.raises(UnreachableError, match=f"cannot reach Kafka at {address}, gone:0 cannot be"),
    ):
        next(log.read({TopicPartition("gone", 0): OffsetRange(0, 1)}))
    with pytest.raises(UnreachableError, match=f"Kafka at {address}.*Connection refused"):
        AdminConnection({"bootstrap.servers": address}).listed(0.3, "nothing is known")


@pytest.mark.parametrize(
    ("failures", "said"),
    [
        (
            [
                KafkaError.LEADER_NOT_AVAILABLE,
                KafkaError.NOT_LEADER_FOR_PARTITION,
                KafkaError._TIMED_OUT,
            ],
            "",
        ),
        ([KafkaError.TOPIC_AUTHORIZATION_FAILED], f"{TOPIC} cannot be .*uthorization"),
    ],
)
def test_a_partition_without_a_leader_is_asked_again_but_not_one_that_refuses(
    monkeypatch: pytest.MonkeyPatch, failures: list[int], said: str
) -> None:
    client, errors = MagicMock(), [KafkaException(KafkaError(code)) for code in failures]
    found = [[KafkaPartition(*FIVE, 7)]] * 2  # the beginning and the end
    client.offsets_for_times.side_effect = [*errors, *found]
    monkeypatch.setattr(kafka_log, "Consumer", lambda settings: client)
    monkeypatch.setattr(kafka_log, "RETRY_S", 0.0)

    with KafkaLog({"bootstrap.servers": "of nobody"}, PATIENCE_S) as log:
        if not said:
            assert log.bounds([FIVE]) == {FIVE: OffsetRange(7, 7)}
            return
        with pytest.raises(UnreachableError, match=said):
            log.bounds([FIVE])


@pytest.mark.proves("A-02")
@pytest.mark.parametrize("follow", [False, True])
def test_what_kafka_has_dropped_or_not_yet_got_is_named_with_what_it_has(
    followable: Followable, follow: bool
) -> None:
    followable.happen(2)
    followable.drop({0: 2})
    place = TopicPartition(followable.topic, 0)

    with KafkaLog(followable.options) as log:
        end = log.bounds([place])[place].end
        with pytest.raises(RecordsDroppedError, match=r":0 was .* offset 1, .* from 2") as told:
            [*log.read({place: OffsetRange(1, 3)}, follow)]
        with pytest.raises(TopicMissingError, match=f"offset {end + 1}, and Kafka has it up to"):
            next(log.read({place: OffsetRange(end + 1, end + 2)}, follow))

    error = told.value
    assert (error.place, error.needed, error.earliest) == (place, 1, 2)


def test_a_header_name_that_is_no_text_hides_all_headers_and_stops_nothing(
    broker: EmbeddedBroker,
) -> None:
    servers = broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(ODD, 1, 1)])[ODD].result(30)
    put_with_header_named(servers, ODD, b"\xff\xfe", b"odd")
    put_with_header_named(servers, ODD, b"sound", b"plain")

    with KafkaLog({"bootstrap.servers": servers}) as log:
        read = [*log.read({TopicPartition(ODD, 0): OffsetRange(0, 2)})]

    assert [one.value() for one in read] == [b"odd", b"plain"]
    several = [*(headers_of(read[1]) for _ in range(OFTEN)), *map(headers_of, read)]
    odd, plain = several[-2:]
    assert odd is None
    assert plain is not None
    assert [name for name, _ in plain] == ["sound"]
