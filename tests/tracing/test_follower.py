"""U-05: spans reach a collector, over HTTP as it takes them, and none is lost on the way."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource

from tests.application import CATALOG, encode_event
from tests.kit.log import AN_EVENT
from tests.read_side.responses import ACCEPTED
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.operations.tracing.follower import CollectorError, SpanFollower
from verdict.service.supervisor import StepThread, Supervisor
from verdict.wire.records import encode

pytestmark = pytest.mark.kafka
TOPIC, EVENTS = "spans.order.responses", "spans.position.events"
PATIENCE_S = 60
GROUP = "spans.verdict"
TOPICS = {TOPIC: None, EVENTS: CATALOG["position"]}
SAMPLED = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
REFUSED = 400  # which the exporter does not try again by itself


class Collecting:
    """A collector that refuses the first spans, and says when it has taken so many."""

    def __init__(self) -> None:
        self.taken: list[str] = []
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
            assert any(one.value.string_value == "shop" for one in of_resource.resource.attributes)
            self.taken += (span.name for scope in of_resource.scope_spans for span in scope.spans)
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


def follow(spans: SpanFollower, is_over: Callable[[], bool]) -> int:
    """Send spans as `verdict spans` does; return how many were sent when it was over."""
    supervisor = Supervisor(
        name="spans",
        component=StepThread("spans", spans),
        essential=True,
        passing=(CollectorError,),
        retry_s=0.05,
    )
    supervisor.start()
    deadline = time.monotonic() + PATIENCE_S
    try:
        while not is_over():
            supervisor.check()
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        supervisor.stop()
    supervisor.check()
    return spans.sent


def knows_positions(options: dict[str, str | int]) -> bool:
    """Tell whether Kafka stores where the group begins."""
    probe = Consumer({**options, "group.id": GROUP})
    try:
        found = probe.committed([TopicPartition(topic, 0) for topic in TOPICS], 30)
    except KafkaException:  # the coordinator of groups has only started
        return False
    finally:
        probe.close()
    return all(place.offset != OFFSET_INVALID for place in found)


@pytest.mark.proves("U-05")
def test_what_a_collector_does_not_take_is_sent_again_also_after_a_restart(
    broker: EmbeddedBroker, collecting: Collecting, caplog: pytest.LogCaptureFixture
) -> None:
    options: dict[str, str | int] = {"bootstrap.servers": broker.bootstrap_servers}
    admin = AdminClient({**options})  # held: one that is collected takes its request with it
    for made in admin.create_topics([NewTopic(topic, 1, 1) for topic in TOPICS]).values():
        made.result(30)

    resource = Resource.create({"service.name": "shop"})

    def spans() -> SpanFollower:
        exporter = OTLPSpanExporter(collecting.url, compression=Compression.NoCompression)
        return SpanFollower(options, GROUP, TOPICS, resource, exporter)

    answer(broker, True)  # before anybody traced: of no interest
    assert follow(spans(), lambda: knows_positions(options)) == 0
    answer(broker, True, False, True)  # while there is no follower
    assert follow(spans(), collecting.whole.is_set) == 2
    collecting.whole.clear()
    collecting.wanted = 4
    answer(broker, True)
    happened(broker)
    assert follow(spans(), collecting.whole.is_set) == 2

    assert collecting.refusals == 0
    assert [one.getMessage() for one in caplog.records] == [
        "Failed to export spans batch code: 400, reason: Bad Request",
        "component spans stopped, trying again every 0.05 s: the collector did not take 2 spans; "
        "its exporter has logged why",
        "component spans runs again",
    ]
    assert Counter(collecting.taken) == {
        f"order {ACCEPTED.command_type}": 3,
        f"position {type(AN_EVENT.payload).__name__}": 1,
    }
