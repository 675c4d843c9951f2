"""`verdict spans`: spans of commands and events for an OpenTelemetry collector."""

from typing import Annotated

import typer
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.monitor import KafkaMonitor
from verdict.cli.options import settings_of
from verdict.cli.render import note
from verdict.cli.shutdown import StopRequest
from verdict.operations.tracing.follower import CollectorError, SpanFollower
from verdict.service.supervisor import StepThread, Supervisor
from verdict.settings.discovery import kafka_options
from verdict.wire.catalog import catalog_of

app = typer.Typer(add_completion=False)
CHECK_S = 0.5


@app.command()
def spans(
    to: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where the collector accepts OTLP over HTTP.",
            show_default="OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318/v1/traces",
        ),
    ] = None,
) -> None:
    """Send the spans of each command that carries `traceparent`, until stopped.

    The span of a command is a child of the span that its sender named. It lasts from the command's
    arrival in Kafka to that of its response, and has the outcome, its reason and the versions. Each
    event is a child of its command. Kafka stores the position, as that of a consumer group; the
    first start begins with the next decision. Spans that the collector does not accept are sent
    again.
    """
    if to is not None and not to.startswith(("http://", "https://")):
        raise typer.BadParameter(
            f"{to!r} is no address such as http://localhost:4318/v1/traces", param_hint="--to"
        )
    settings = settings_of()
    topics, stop = settings.topics, StopRequest()
    stop.listen()
    types = settings.application.aggregate_types
    following = SpanFollower(
        kafka_options(settings),
        topics.transactional_id("spans"),
        dict.fromkeys(map(topics.responses, types))
        | {topics.events(one.name): one for one in catalog_of(settings.application)},
        Resource.create({"service.name": settings.deployment}),
        OTLPSpanExporter(endpoint=to),
    )
    monitor = KafkaMonitor(kafka_of(settings), [topics.progress])
    monitor.start()
    supervisor = Supervisor(
        name="spans",
        component=StepThread("spans", following),
        essential=True,
        passing=(CollectorError,),
        is_kafka_there=lambda: monitor.is_reachable,
    )
    try:
        supervisor.start()
        while not stop.wait(CHECK_S):
            supervisor.check()
    finally:
        supervisor.stop()
        monitor.stop()
    note(f"{following.sent:,} spans were sent")
