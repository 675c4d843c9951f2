"""U-05: spans reach a collector, over HTTP as it takes them, and none is lost on the way."""

from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest
from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource

from tests.application import CATALOG, encode_event
from tests.projection.event_log import AN_EVENT
from tests.projection.responses import ACCEPTED
from verdict.local.broker import EmbeddedBroker
from verdict.tracing import following, sending
from verdict.tracing.following import Spans
from verdict.wire.records import encode

pytestmark = pytest.mark.kafka
TOPIC, EVENTS = "spans.order.responses", "spans.position.events"
Stopped = Callable[[float], bool]
GROUP = "spans.verdict"
TOPICS = {TOPIC: None, EVENTS: CATALOG["position"]}
SAMPLED = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
REFUSED = 400  # which the exporter does not try again by itself


class Collecting:
    """A collector that refuses the first spans, and says when it has taken so many."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str]] = []
        self.refusals = 1
        self.whole = Event()
        self.wanted = 2
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(outer.take(body))
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    def take(self, body: bytes) -> int:
        if self.refusals:
            self.refusals -= 1
            return REFUSED
        request = ExportTraceServiceRequest.FromString(body)
        for of_resource in request.resource_spans:
            [service] = [
                one.value.string_value
                for one in of_resource.resource.attributes
                if one.key == "service.name"
            ]
            spans = (span for scope in of_resource.scope_spans for span in scope.spans)
            self.taken += ((service, span.name) for span in spans)
        if len(self.taken) >= self.wanted:
            self.whole.set()
        return 200


@pytest.fixture
def collecting() -> Iterator[Collecting]:
    collecting = Collecting()
    thread = Thread(target=collecting.server.serve_forever, daemon=True)
    thread.start()
    yield collecting
    collecting.server.shutdown()
    collecting.server.server_close()
    thread.join()


def happened(broker: EmbeddedBroker) -> None:
    """Write an event of the command that was answered."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    value = encode_event(AN_EVENT._replace(source=ACCEPTED.source))
    producer.produce(EVENTS, value, "o-1", headers=[("traceparent", SAMPLED)])
    assert producer.flush(30) == 0


def answer(broker: EmbeddedBroker, *traced: bool) -> None:
    """Write answers, some to senders that trace; and a tombstone of somebody."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for one in traced:
        headers: list[tuple[str, str | bytes | None]] = [("traceparent", SAMPLED)]
        producer.produce(TOPIC, encode(ACCEPTED), "o-1", headers=headers if one else [])
    producer.produce(TOPIC, None, "o-1")
    assert producer.flush(30) == 0


def begin(options: dict[str, str | int], follow: Callable[[Stopped], int]) -> None:
    """Follow until Kafka knows where the group begins."""
    places = [TopicPartition(topic, 0) for topic in TOPICS]
    probe = Consumer({**options, "group.id": GROUP})

    def known(seconds: float) -> bool:
        Event().wait(seconds)
        try:
            found = probe.committed(places, 30)
        except KafkaException:  # who coordinates groups has only started
            return False
        return all(place.offset != OFFSET_INVALID for place in found)

    try:
        assert follow(known) == 0
    finally:
        probe.close()


@pytest.mark.proves("U-05")
def test_what_a_collector_does_not_take_is_sent_again_and_who_starts_again_goes_on(
    broker: EmbeddedBroker,
    collecting: Collecting,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(sending, "RETRY_S", 0.05)
    options: dict[str, str | int] = {"bootstrap.servers": broker.bootstrap_servers}
    admin = AdminClient({**options})  # held: one that is collected takes its request with it
    for made in admin.create_topics([NewTopic(topic, 1, 1) for topic in TOPICS]).values():
        made.result(30)

    resource = Resource.create({"service.name": "shop"})

    def follow(stopped: Stopped) -> int:
        exporter = OTLPSpanExporter(collecting.url, compression=Compression.NoCompression)
        return Spans(options, GROUP, TOPICS, resource, exporter).follow(stopped)

    answer(broker, True)  # before anybody traced: of no interest
    begin(options, follow)
    answer(broker, True, False, True)  # while nobody follows
    assert follow(collecting.whole.wait) == 2
    collecting.whole.clear()
    collecting.wanted = 4
    answer(broker, True)
    happened(broker)
    assert follow(collecting.whole.wait) == 2

    assert collecting.refusals == 0
    assert [one.getMessage() for one in caplog.records] == [
        "the collector does not take spans, trying again: Failed to export spans batch code: 400, "
        "reason: Bad Request",
        "the collector takes spans again",
    ]
    assert {service for service, _ in collecting.taken} == {"shop"}
    assert Counter(name for _, name in collecting.taken) == {
        f"order {ACCEPTED.command_type}": 3,
        f"position {type(AN_EVENT.payload).__name__}": 1,
    }


@pytest.mark.long
def test_who_waits_for_a_collector_stays_in_the_group(
    broker: EmbeddedBroker,
    collecting: Collecting,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It was thrown out after five minutes, and until then a second one got nothing."""
    monkeypatch.setattr(sending, "RETRY_S", 0.5)
    most = {"max.poll.interval.ms": 6000, "session.timeout.ms": 6000}
    monkeypatch.setattr(following, "FOLLOWING", following.FOLLOWING | most)
    options: dict[str, str | int] = {"bootstrap.servers": broker.bootstrap_servers}
    topic = "spans.stays.responses"
    admin = AdminClient({**options})
    [made] = admin.create_topics([NewTopic(topic, 1, 1)]).values()
    made.result(30)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    collecting.refusals, collecting.wanted = 20, 3
    exporter = OTLPSpanExporter(collecting.url, compression=Compression.NoCompression)
    resource = Resource.create({"service.name": "shop"})
    spans = Spans(options, "stays", {topic: None}, resource, exporter)

    def stopped(seconds: float) -> bool:
        if seconds == 0 and next(sends, None) is not None:
            producer.produce(topic, encode(ACCEPTED), "o-1", headers=[("traceparent", SAMPLED)])
            assert producer.flush(30) == 0
        return collecting.whole.wait(seconds)

    sends = iter(range(40))
    assert spans.follow(stopped) >= 3

    assert collecting.refusals == 0
    assert not [one for one in caplog.records if "Kafka does not answer" in one.getMessage()]
