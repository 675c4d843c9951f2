"""`verdict topics`: create the topics, check them, accept added partitions."""

from dataclasses import asdict
from typing import Annotated

import typer

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.topic_drift import TopicSettingsError, as_begun
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.cli.options import Json, Who, Why, settings_of, skip_request
from verdict.cli.render import note, show_json
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.operations.status.write_side_status import decider_progress, topic_differences
from verdict.service.queries import require_same_log
from verdict.service.topics import create_topics
from verdict.settings.discovery import kafka_options
from verdict.streaming.event_log.skip_log import accepted_partitions, read_skips, write_skips
from verdict.wire.skip_record import Kind

app = typer.Typer(add_completion=False)

Name = Annotated[str, typer.Argument(metavar="TOPIC", help="As `verdict topics check` names it.")]


@app.callback()
def topics() -> None:
    """Create the topics of this deployment, or check them."""


@app.command()
def create(json: Json = False) -> None:
    """Create missing topics; existing ones are not changed.

    A deleted topic that a progress record names is not created again: see `verdict recover`.
    """
    settings = settings_of()
    created = create_topics(settings, kafka_of(settings))
    if json:
        show_json({"created": created})
        return
    for name in created:
        note(f"created {name}")
    there = len(list(settings.topics.all())) - len(created)
    note(f"{len(created)} created, {there} existed; see `verdict topics check`")


@app.command()
def check(json: Json = False) -> None:
    """Compare the topics with their required settings; exit code 1 when one differs."""
    settings = settings_of()
    require_same_log(settings, kafka_of(settings))
    differences = topic_differences(settings, decider_progress(settings))
    names = [topic.name for topic in settings.topics.all()]
    if json:
        show_json({"topics": names, "differences": [*map(asdict, differences)]})
    if differences:
        raise TopicSettingsError(differences)
    note(f"{len(names)} topics are as they must be")


@app.command()
def accept(topic: Name, reason: Why, by: Who = None) -> None:
    """Accept partitions that somebody added to a topic; Kafka cannot remove them.

    On a topic of commands new commands of an aggregate may go to another partition. So stop all
    senders, and let the service decide everything, before you accept: else commands of one
    aggregate may be decided in another order than they were sent. On any other topic verdict writes
    as before. The acceptance is recorded on the skips topic.
    """
    request, settings = skip_request(by, reason), settings_of()
    options, topics = kafka_options(settings), settings.topics
    progress = decider_progress(settings)
    decided = progress.offsets if progress else {}
    found = TopicAdmin(options, topics).counts()
    begun = as_begun(topics, decided, accepted_partitions(read_skips(options, topics)))
    first = {one.name: one.partitions for one in begun.all() if one.ours}
    first |= {commands: len(offsets) for commands, offsets in decided.items()}
    if topic not in found:
        raise VerdictError(f"{topic} is no topic of this deployment: see `verdict topics check`")
    if topic not in first:
        raise VerdictError(
            f"{topic} belongs to another system, which may add partitions: verdict reads them, and "
            "nothing needs to be accepted"
        )
    added = range(first[topic], found[topic])
    if not added:
        raise VerdictError(f"{topic} has no added partitions: it has {found[topic]}")
    write_skips(
        options,
        topics,
        [request.record(Source(topic, one, 0), 0, Kind.ACCEPTED) for one in added],
    )
    is_read = topic in topics.every_commands()
    start = "; start the service with `verdict up`" if is_read else ""
    note(f"{len(added)} partitions of {topic} are accepted{start}")
