"""`verdict schemas`: Avro schemas, their files, and a registry for other tools."""

from collections.abc import Iterable
from typing import Annotated

import typer

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.schema_registry import RegisteredId, SchemaRegistry, every_subject
from verdict.adapters.local.permissions import as_all_files_of_the_user
from verdict.adapters.sql.readers.reader import open_reader
from verdict.cli.options import Json, settings_of
from verdict.cli.render import note, show_json
from verdict.errors import UnreachableError, VerdictError
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.wire.catalog import catalog_of
from verdict.wire.schemas.write import (
    missing,
    require_written_schemas,
    write_those_of_the_aggregates,
)

app = typer.Typer(add_completion=False)

Registry = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Schema registry.", show_default="schema_registry_url"),
]


@app.callback()
def schemas() -> None:
    """Compare Avro schemas with the classes, write their files, publish them to a registry."""


@app.command()
def check(registry: Registry = None, json: Json = False) -> None:
    """Compare the classes with the schema files and, if one is set, with the registry.

    Exit code 1 when a class differs from its newest file, or the registry lacks a schema.
    """
    settings = settings_of(schema_registry_url=registry)
    application, lacking = settings.application, list[RegisteredId]()
    changed = sorted(subject for subject, _ in missing(application))
    if settings.schema_registry_url:
        lacking = _registry(settings).missing(every_subject(settings.topics))
    number = len(catalog_of(application).schemas.by_id)
    if json:
        show_json({"schemas": number, "changed": changed, "lacking": _facts(lacking)})
    require_written_schemas(application)
    if lacking:
        raise VerdictError(
            f"the registry lacks {len(lacking)} schemas, the first: {lacking[0].subject} "
            f"v{lacking[0].schema.version}: run `verdict schemas publish`"
        )
    note(f"{number} schemas match the classes")


@app.command()
def write(
    unpublished: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUBJECT",
            help="Replace the newest version of this schema, such as order_event, because no "
            "record has it yet; may be repeated.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a file for each new or changed schema of the application.

    Commit the files: each record names its schema, and cannot be read without it. So --unpublished
    is refused if Kafka or the archive has, or had, a record with that schema.
    """
    settings = settings_of()
    if unpublished:
        _require_unpublished(settings, unpublished)
    with as_all_files_of_the_user():
        written = write_those_of_the_aggregates(settings.application, unpublished or ())
        files = [str(file) for file in written]
    if json:
        show_json({"written": files})
    for file in files:
        note(f"wrote {file}")
    if not files:
        note("every class matches its newest schema: nothing was written")


@app.command()
def publish(registry: Registry = None, json: Json = False) -> None:
    """Publish every schema to a registry, with the id that records have.

    Each topic has a subject, `<topic>-value`. A second call changes nothing. verdict itself needs
    no registry: it is for other tools.
    """
    settings = settings_of(schema_registry_url=registry)
    place = _registry(settings)
    lacking = place.missing(every_subject(settings.topics))
    place.publish(lacking)
    if json:
        show_json({"registry": str(place), "published": _facts(lacking)})
    note(f"{len(lacking)} schemas published to {place}")


def _require_unpublished(settings: Settings, subjects: Iterable[str]) -> None:
    """Require that no topic has, or had, a record with one of these schemas, nor the archive."""
    topics = {"event": settings.topics.events, "command": settings.topics.commands}
    for subject in subjects:
        aggregate, _, kind = subject.rpartition("_")
        if kind not in topics:
            continue
        if written := _written(settings, topics[kind](aggregate)) or _archived(settings, aggregate):
            raise VerdictError(
                f"{subject} has {written:,} records already, which could not be read without "
                "its schema: nothing was replaced; keep its fields and add others"
            )


def _written(settings: Settings, topic: str) -> int:
    """Return how many offsets of a topic are used; 0 if there is no Kafka."""
    try:
        options = kafka_options(settings)
    except UnreachableError:
        note(f"no service runs, and no Kafka is set: {topic} was not checked for records")
        return 0
    with KafkaLog(options) as log:
        places = log.places([topic]) if log.exists(topic) else []
        return sum(span.end for span in log.bounds(places).values())


def _archived(settings: Settings, aggregate: str) -> int:
    """Return how many events the archive has; 0 if there is no database yet."""
    query = "SELECT count(*) FROM event_archive WHERE aggregate_type = :aggregate"
    try:
        with open_reader(settings) as reader:
            [(count,)] = reader.select(query, {"aggregate": aggregate}).rows
    except UnreachableError:
        return 0
    return int(count)


def _registry(settings: Settings) -> SchemaRegistry:
    if settings.schema_registry_url is None:
        raise typer.BadParameter("give --registry URL, or set schema_registry_url")
    return SchemaRegistry(settings.schema_registry_url.get_secret_value())


def _facts(placed: Iterable[RegisteredId]) -> list[dict[str, object]]:
    return [
        {"subject": one.subject, "version": one.schema.version, "id": one.schema.id}
        for one in placed
    ]
