"""A log that a service has decided, decided again in memory: what came of it both times."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide four
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from tests.hostile import HEADERS, KEY, KINDS, envelope
from tests.reactions.running import read_all
from tests.testing import faulty
from tests.testing.random_log import Select, anything, views
from tests.traffic import START
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.adapters.sql.readers.sqlite_reader import SqliteReader
from verdict.model.source import Source
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import readable
from verdict.readers import wait_until_idle
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.testing import InMemory, LogRecord, Service
from verdict.testing.memory_read_side import FILE
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.dead_letter_record import RETRY_ATTEMPT, RETRY_POLICY, Pairs
from verdict.wire.headers import REPLY_TO, pairs
from verdict.wire.partitions import TopicPartition
from verdict.wire.records import decode, encode
from verdict.wire.response import Rejection, Response
from verdict.wire.topics import Topics

pytestmark = [pytest.mark.spark, pytest.mark.process, pytest.mark.timeout(600)]

NAME = "equal"
CHOSEN: dict[str, str | int] = {
    "deployment": NAME,
    "topic_prefix": f"{NAME}.",
    "shards": 1,  # what several decide in one batch is written shard by shard, whatever came first
    "max_rows_per_batch": 60,  # so that state goes through Spark's store between the batches
    "retry_backoff": "fixed:1h",  # so that nothing comes back while one looks
}
# what somebody may write where a retry counts
ATTEMPTS = (
    *(b"3", b" 7 ", b"+4", b"-2", b"1_0", b"2147483647", b"2147483648", b"0x1", b"1.5", b"1e1"),
    *(b"", b"\xff", "٣".encode(), None, b"00012", b"\t8\n", b"\x0b9", b"\x005", b"6\x7f", b"- 1"),
)

Headers = Sequence[tuple[str, str | bytes | None]]
Servers = dict[str, str | int | float | bool]
Sent = Counter[tuple[str, bytes | None, bytes | None]]  # topic, key, value
What = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
Lane = tuple[str, int | None, TopicPartition | None]

SOURCES: dict[str, Callable[[bytes], Source]] = {
    "responses": lambda value: decode(Response, value).source,
    "rejected": lambda value: decode(Rejection, value).source,
    "dead-letters": lambda value: decode(DeadLetter, value).source,
}


@dataclass(frozen=True)
class Came:
    """What is on the topics, and what the views show."""

    log: dict[str, list[LogRecord]]
    shown: dict[str, Counter[str]]


@dataclass(frozen=True)
class Both:
    """What came of one log, and the commands of policies: `sent` on topics, `asked` in memory."""

    topics: Topics
    service: Came
    memory: Came
    sent: Sent
    asked: list[OutputRecord]


@pytest.fixture(scope="module")
def both(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Return what came of random and hostile records, in an application that has bugs."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("VERDICT_APP", f"{faulty.__name__}:app")
        data_dir = tmp_path_factory.mktemp(NAME) / "data"
        service = Service(
            faulty.app, data_dir, bootstrap_servers=broker.bootstrap_servers, **CHOSEN
        )
        with service:
            put = send(service.settings)
            for _ in wait_until_idle(service.settings):
                service.check()
        log = everything(broker.bootstrap_servers, service.settings.topics)
    decided = Came(log, views(select_of(data_dir)))
    topics = service.settings.topics
    outside = [*topics.every_commands(), *topics.inbound, *topics.states, topics.retry]
    with InMemory(faulty.app, clock=lambda: START, topics=topics) as app:
        asked = app.replay(one for topic in outside for one in log[topic])
        again = {topic: app.events(topic) for topic in log}
        yield Both(topics, decided, Came(again, views(app.sql)), by_policies(log, put), asked)


def send(settings: Settings) -> Sent:
    """Put everything on the topics, each record with the time that its sender gives it."""
    topics, put = settings.topics, Sent()
    servers: Servers = {"bootstrap.servers": str(settings.bootstrap_servers)}
    take_times_from_senders(servers, topics)
    producer = Producer(
        servers
        | {
            "partitioner": "murmur2_random",
            "compression.type": "gzip",
            "message.max.bytes": 20_000_000,
        }
    )
    for topic, key, value, timestamp, headers in records():
        name = topics.named(topic)
        producer.produce(name, value, key, timestamp=timestamp, headers=[*headers])
        producer.poll(0)
        put[name, key, value] += 1
    assert producer.flush(60) == 0
    return put


def records() -> Iterator[tuple[str, bytes | None, bytes | None, int, Headers]]:
    """Yield topic, key, value, time and headers of what careless and hostile senders send."""
    random, now = Random(16), START
    for one in anything(seed=16, commands=400, invoices=15, states=15):
        now = one.timestamp
        yield one.topic, one.key, one.value, now, []
    for kind in KINDS.values():
        yield "order.commands", *kind(random), now, HEADERS
    fields: dict[str, Any] = {"client": "ada", "ticker": "A", "side": "BUY", "quantity": 1}
    placed = {"type": "PlaceOrder", "limit_price_cents": 1} | fields
    both = [(REPLY_TO, b"them"), (REPLY_TO, b"us")]
    yield "order.commands", KEY, envelope(placed, command_id="placed"), now, both
    slow = {"type": "CancelOrder", "cause": "too slow"}
    for number, attempt in enumerate(ATTEMPTS):
        tried = [(RETRY_ATTEMPT, attempt), (REPLY_TO, bytes(number * 8))]
        yield "order.commands", KEY, envelope(slow, command_id=f"slow-{number}"), now, tried
        yield "POS", b"till", b"{", now, tried
        named = [(RETRY_POLICY, attempt), *tried]
        yield "retry", b"retried", b"no event", now, named
        yield "retry", b"retried", b"no event", now, [(RETRY_POLICY, b"faulty"), *tried]


def take_times_from_senders(servers: Servers, topics: Topics) -> None:
    """Let the log be as if it had been written when senders say: what is old is kept, too."""
    settings = {
        "message.timestamp.type": "CreateTime",
        "message.timestamp.after.max.ms": str(2**62),
        "retention.ms": "-1",
    }
    changes = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    named = [*topics.every_commands(), *topics.inbound, *topics.states, topics.retry]
    resources = [
        ConfigResource(ResourceType.TOPIC, one, incremental_configs=changes) for one in named
    ]
    admin = AdminClient(servers)
    for changed in admin.incremental_alter_configs(resources).values():
        changed.result(30)


def everything(servers: str, topics: Topics) -> dict[str, list[LogRecord]]:
    """Return what is on each topic but the books of the service."""
    partitions = {one.name: one.partitions for one in topics.all()}
    named = (*topics.of_the_log(), topics.replies)
    found: dict[str, list[LogRecord]] = {name: [] for name in named}
    for message in read_all(servers, {name: partitions[name] for name in found}):
        one = as_log_record(message)
        found[one.topic].append(one)
    return found


def as_log_record(message: Message) -> LogRecord:
    place = str(message.topic()), message.partition() or 0, message.offset() or 0
    headers = cast(Pairs, tuple(message.headers() or ()))
    return LogRecord(*place, message.timestamp()[1], message.key(), message.value(), headers)


def select_of(data_dir: Path) -> Select:
    """Return what selects from the database of the service."""

    def select(statement: str) -> list[dict[str, Any]]:
        reader = SqliteReader(data_dir / FILE, readable(projections(faulty.app)), 60, masked=False)
        with closing(reader):
            found = reader.select(statement, ())
            return [dict(zip(found.columns, row, strict=True)) for row in found.rows]

    return select


def by_policies(log: dict[str, list[LogRecord]], put: Sent) -> Sent:
    """Return the commands that the service itself put on their topics."""
    every = (one for topic, of in log.items() if topic.endswith(".commands") for one in of)
    return Counter((one.topic, one.key, one.value) for one in every) - put


def lanes(records: Iterable[LogRecord]) -> dict[Lane, list[What]]:
    """Return what is on a topic in its order, by partition and by the position of its cause.

    Between causes on different partitions there is no order: an answer goes where the id in its
    envelope belongs, whatever the key of its record is, and all letters go to one topic.

    A letter without a key has no partition of its own.
    """
    found: dict[Lane, list[What]] = defaultdict(list)
    for one in map(without_what_kafka_gave, records):
        partition = None if one.key is None else one.partition
        found[one.topic, partition, cause_of(one)].append((one.key, one.value, one.headers))
    return dict(found)


def cause_of(record: LogRecord) -> TopicPartition | None:
    """Return the position of the command that is answered, or of what a letter is about."""
    source_of = SOURCES.get(record.topic.rpartition(".")[2])
    if source_of is None:
        return None
    source = source_of(record.value or b"")
    return TopicPartition(source.topic, source.partition)


def without_what_kafka_gave(record: LogRecord) -> LogRecord:
    """Return a letter about an event without its offset and time, any other record as it is.

    Kafka decides about positions and times of events: the records that end transactions are
    between, and the time is that of publishing.
    """
    headers = dict(record.headers)
    if b".events/DeadLetter" not in (headers.get("ce_source") or b""):
        return record
    letter = decode(DeadLetter, record.value or b"")
    place = replace(letter.source, offset=0)
    value = encode(replace(letter, source=place, received_at=0))
    headers["ce_id"] = str(place).encode()
    return record._replace(value=value, headers=tuple(headers.items()))


REPLIES = f"{NAME}.replies"
OUTPUTS = [
    f"{kind}.{what}"
    for kind in faulty.app.aggregate_types
    for what in ("events", "responses", "rejected")
]


@pytest.mark.proves("B-16")
@pytest.mark.parametrize("topic", [*OUTPUTS, "dead-letters", "shipment", "loyalty", REPLIES])
@pytest.mark.long
def test_each_partition_has_the_same_records_in_the_same_order(both: Both, topic: str) -> None:
    name = both.topics.named(topic)
    service, memory = lanes(both.service.log[name]), lanes(both.memory.log[name])

    assert memory.keys() == service.keys()
    for lane, wanted in service.items():
        assert memory[lane] == wanted, lane


@pytest.mark.proves("B-16")
@pytest.mark.long
def test_policies_ask_for_the_same_commands(both: Both) -> None:
    assert {pairs(one.headers) == [] for one in both.asked} == {True}
    assert Counter((one.topic, one.key, one.value) for one in both.asked) == both.sent
    assert len(both.asked) > 20


@pytest.mark.proves("B-16")
@pytest.mark.parametrize("view", [*views(lambda statement: [])])
@pytest.mark.long
def test_each_view_shows_the_same_rows(both: Both, view: str) -> None:
    assert both.memory.shown[view] == both.service.shown[view]


@pytest.mark.long
def test_what_is_compared_is_of_every_kind(both: Both) -> None:
    outcomes = " ".join(both.service.shown["outcome"])
    for reason in ("HANDLER_ERROR", "COMMAND_ID_REUSED", "VERSION_CONFLICT", "BUSINESS_RULE",
                   "EXPIRED", "DELETED", "ALREADY_EXISTS", "NOT_FOUND", "INVALID_COMMAND",
                   "UNKNOWN_TYPE"):  # fmt: skip
        assert reason in outcomes
    written = Counter(name.rpartition(".")[2] for name, of in both.service.log.items() for _ in of)
    assert min(written[what] for what in ("events", "rejected", "dead-letters", "replies")) > 10
    assert any("'WAITING'" in one for one in both.service.shown["dead_letter"])
    assert any("'PARKED'" in one for one in both.service.shown["dead_letter"])
