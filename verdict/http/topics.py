"""Topics and schemas: what there must be, and where Kafka, classes or a registry differ from it."""

from collections import defaultdict

from fastapi import FastAPI, Request, Response

from verdict.adapters.kafka.schema_registry import RegisteredId, SchemaRegistry, every_subject
from verdict.errors import VerdictError
from verdict.http.pages import Pages
from verdict.operations.status.topics import topic_differences
from verdict.settings.settings import Settings
from verdict.wire.schemas.write import missing


def add_topics(page: FastAPI, settings: Settings, pages: Pages) -> None:
    """Let people see topics and schemas, and where something differs."""

    def topics(request: Request) -> Response:
        placed = defaultdict(list)
        for one in every_subject(settings.topics):
            placed[one.subject].append(one.schema)
        told = [(topic, placed.get(f"{topic.name}-value", [])) for topic in settings.topics.all()]
        return pages.shown(request, "topics", {"topics": told, "drift": _drift(settings)})

    page.add_api_route("/topics", topics, include_in_schema=False)


def _drift(settings: Settings) -> list[str]:
    """Return what differs, in words; also what cannot be told, and why."""
    found = [
        f"the class of {subject} says something else than its file"
        for subject, _ in missing(settings.application)
    ]
    try:
        found += map(str, topic_differences(settings))
    except VerdictError as error:
        found.append(f"what Kafka has is not known: {error}")
    try:
        found += [
            f"the registry lacks {subject} v{one.version}" for subject, one in _lacking(settings)
        ]
    except VerdictError as error:
        found.append(f"what the registry has is not known: {error}")
    return found


def _lacking(settings: Settings) -> list[RegisteredId]:
    if settings.schema_registry_url is None:
        return []
    registry = SchemaRegistry(settings.schema_registry_url.get_secret_value())
    return registry.missing(every_subject(settings.topics))
