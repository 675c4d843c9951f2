"""`verdict spans`: a span for each command whose sender traces, to an OpenTelemetry collector."""

from typing import Annotated

import typer
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

from verdict.application import current
from verdict.cli.leaving import Asked, stop_on_signals
from verdict.cli.options import kafka_options, settings_of
from verdict.cli.output import note
from verdict.tracing.following import Spans

app = typer.Typer(add_completion=False)


@app.command()
def spans(
    to: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where the collector takes OTLP over HTTP.",
            show_default="OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318/v1/traces",
        ),
    ] = None,
) -> None:
    """Send a span for each command that carries `traceparent`, until stopped.

    Of what is recorded: from a command's arrival in Kafka to that of its answer, with the verdict,
    its reason and the versions; the child of the span that its sender named. The decider does
    nothing for it. How far it has come Kafka remembers, as a consumer group; the first start begins
    with what is answered from then on. What the collector does not take is sent again.
    """
    settings = settings_of()
    topics, stopped = settings.topics, Asked()
    stop_on_signals(stopped)
    following = Spans(
        kafka_options(settings),
        topics.transactional_id("spans"),
        [*map(topics.responses, current().aggregate_types)],
        settings.deployment,
        OTLPSpanExporter(endpoint=to),
    )
    sent = following.follow(stopped.wait)
    note(f"{sent:,} spans were sent")
