"""`verdict topics create|check`: what must exist, and whether it is as it must be."""

from dataclasses import asdict

import typer

from verdict.cli.options import Json, kafka_options, settings_of
from verdict.cli.output import note, show_json
from verdict.foundation.ensured_topics import created_topics, refuse_another_log
from verdict.kafka.access import kafka_of
from verdict.kafka.topic_check import TopicAdmin
from verdict.kafka.topic_differences import TopicsDiffer
from verdict.standing.markers import decider_marker

app = typer.Typer(add_completion=False)


@app.callback()
def topics() -> None:
    """Create the topics of this deployment, or check them."""


@app.command()
def create(json: Json = False) -> None:
    """Create the topics that are missing; those that exist are left as they are.

    A topic that a marker speaks of is never created in place of the one that is gone.
    """
    settings = settings_of()
    created = created_topics(settings, kafka_of(settings))
    if json:
        show_json({"created": created})
        return
    for name in created:
        note(f"created {name}")
    there = len(list(settings.topics.all())) - len(created)
    note(f"{len(created)} created, {there} were there; see `verdict topics check`")


@app.command()
def check(json: Json = False) -> None:
    """Compare the topics with what they must be; every difference is listed, exit code 1."""
    settings = settings_of()
    refuse_another_log(settings, kafka_of(settings))
    admin = TopicAdmin(kafka_options(settings), settings.topics)
    marker = decider_marker(settings)
    differences = admin.differences(marker.offsets if marker else None)
    if json:
        names = [topic.name for topic in settings.topics.all()]
        show_json({"topics": names, "differences": [*map(asdict, differences)]})
    if differences and json:
        raise typer.Exit(TopicsDiffer.exit_code)
    if differences:
        raise TopicsDiffer(differences)
    if not json:
        note(f"{len(list(settings.topics.all()))} topics are as they must be")
