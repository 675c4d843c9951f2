"""Topics and their schemas: a page that shows what differs, and an AsyncAPI document."""

import json
from collections import defaultdict
from importlib.metadata import version

from fastapi import APIRouter, Response

from verdict.adapters.kafka.schema_registry import SchemaRegistry, every_subject
from verdict.errors import VerdictError
from verdict.http.site import Context
from verdict.model.message import JsonObject
from verdict.operations.status.write_side_status import decider_progress, topic_differences
from verdict.settings.settings import Settings
from verdict.wire.schemas.files import SchemaVersion
from verdict.wire.schemas.write import missing
from verdict.wire.topics import Topic, Topics

AVRO = "application/vnd.apache.avro;version=1.9.0"
BINDING = {"bindingVersion": "0.5.0"}
NUMBERS = ("retention.ms", "retention.bytes", "delete.retention.ms", "max.message.bytes")
router = APIRouter()


class Yaml(Response):
    """A YAML document."""

    media_type = "application/yaml"


@router.get("/topics", include_in_schema=False)
def topics(context: Context) -> Response:
    """Show the topics with their settings and schemas, and what differs."""
    settings, schemas = context.settings, defaultdict(list)
    for one in every_subject(settings.topics):
        schemas[one.subject].append(one.schema)
    shown = [(topic, schemas.get(f"{topic.name}-value", [])) for topic in settings.topics.all()]
    return context.show("topics", {"topics": shown, "drift": _drift(settings)})


@router.get(
    "/asyncapi.yaml",
    response_class=Yaml,
    responses={200: {"content": {Yaml.media_type: {"schema": {"type": "object"}}}}},
    tags=["documents"],
)
def get_asyncapi(context: Context) -> Response:
    """Return all topics, their settings and their records, as AsyncAPI 3.0."""
    return Yaml(asyncapi(context.settings.topics))


def _drift(settings: Settings) -> list[str]:
    """Return what differs, and what is unknown."""
    classes = (subject for subject, _ in missing(settings.application))
    found = [f"the class of {subject} differs from its file" for subject in classes]
    try:
        found += map(str, topic_differences(settings, decider_progress(settings)))
    except VerdictError as error:
        found.append(f"the topics of Kafka are unknown: {error}")
    if settings.schema_registry_url is not None:
        registry = SchemaRegistry(settings.schema_registry_url.get_secret_value())
        try:
            lacking = registry.missing(every_subject(settings.topics))
            found += [f"the registry lacks {subject} v{one.version}" for subject, one in lacking]
        except VerdictError as error:
            found.append(f"the schemas of the registry are unknown: {error}")
    return found


def asyncapi(topics: Topics) -> str:
    """Return the document: every topic, its settings and its records; JSON, which is YAML."""
    written = {one.subject: one.schema for one in every_subject(topics)}  # the newest comes last
    every = {topic.name: topic for topic in topics.all()}
    found = {name: schema for name in every if (schema := written.get(f"{name}-value"))}
    received = {*topics.every_commands(), *topics.inbound, topics.retry}
    document = {
        "asyncapi": "3.0.0",
        "info": {"title": topics.application.name, "version": version("verdict-cqrs")},
        "defaultContentType": "application/avro",
        "channels": {name: _channel(topic, found.get(name)) for name, topic in every.items()},
        "operations": {name: _operation(name, name in received) for name in every},
        "components": {"messages": {one.subject: _message(one) for one in found.values()}},
    }
    return json.dumps(document, indent=2)


def _channel(topic: Topic, schema: SchemaVersion | None) -> JsonObject:
    numbers = {name: int(topic.settings[name]) for name in NUMBERS if name in topic.settings}
    policy = {"cleanup.policy": topic.settings["cleanup.policy"].split(",")}
    kafka = {
        "topic": topic.name,
        "partitions": topic.partitions,
        "topicConfiguration": policy | numbers,
        **BINDING,
    }
    refers = schema and {schema.subject: {"$ref": f"#/components/messages/{schema.subject}"}}
    return {"address": topic.name, "messages": refers or {}, "bindings": {"kafka": kafka}}


def _operation(name: str, received: bool) -> JsonObject:
    return {
        "action": "receive" if received else "send",
        "channel": {"$ref": f"#/channels/{name}"},
    }


def _message(schema: SchemaVersion) -> JsonObject:
    """Return what a record contains; the id of its schema is in the bytes before it."""
    kafka = {
        "key": {"type": "string"},
        "schemaIdLocation": "payload",
        "schemaIdPayloadEncoding": "confluent",
        **BINDING,
    }
    return {
        "name": schema.subject,
        "contentType": "application/avro",
        "payload": {"schemaFormat": AVRO, "schema": schema.schema},
        "bindings": {"kafka": kafka},
    }
