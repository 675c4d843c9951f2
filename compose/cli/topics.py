"""`verdict topics create|check`: what must exist, and whether it is as it must be."""

from dataclasses import asdict

import typer

from compose.cli.marker import decider_marker
from compose.cli.options import (
    BootstrapServers,
    DataDir,
    Json,
    kafka_options,
    settings_of,
)
from compose.cli.output import note, show_json
from compose.kafka.topic_check import TopicAdmin
from compose.kafka.topic_differences import TopicsDiffer

app = typer.Typer(add_completion=False)


@app.callback()
def topics() -> None:
    """Create the topics of this deployment, or check them."""


@app.command()
def create(
    json: Json = False, data_dir: DataDir = None, bootstrap_servers: BootstrapServers = None
) -> None:
    """Create the topics that are missing; those that exist are left as they are."""
    settings = settings_of(data_dir=data_dir, bootstrap_servers=bootstrap_servers)
    created = TopicAdmin(kafka_options(settings), settings.topics).create_missing()
    if json:
        show_json({"created": created})
        return
    for name in created:
        note(f"created {name}")
    there = len(list(settings.topics.all())) - len(created)
    note(f"{len(created)} created, {there} were there; see `verdict topics check`")


@app.command()
def check(
    json: Json = False, data_dir: DataDir = None, bootstrap_servers: BootstrapServers = None
) -> None:
    """Compare the topics with what they must be; every difference is listed, exit code 1."""
    settings = settings_of(data_dir=data_dir, bootstrap_servers=bootstrap_servers)
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
