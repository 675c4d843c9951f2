"""The topics as AsyncAPI 3.0 tells them: made from the same values that create and check them."""

import json
from importlib.metadata import version
from typing import Any

from verdict.adapters.kafka.schema_registry import every_subject
from verdict.wire.schemas.files import SchemaVersion
from verdict.wire.topics import Topic, Topics

AVRO = "application/vnd.apache.avro;version=1.9.0"
BINDING = {"bindingVersion": "0.5.0"}
NUMBERS = ("retention.ms", "retention.bytes", "delete.retention.ms", "max.message.bytes")


def asyncapi(topics: Topics) -> str:
    """Return the document: every topic, its settings, and what is on it; JSON, which is YAML."""
    written = {one.subject: one.schema for one in every_subject(topics)}  # the newest comes last
    every = {topic.name: topic for topic in topics.all()}
    found = {name: schema for name in every if (schema := written.get(f"{name}-value"))}
    taken = {*topics.every_commands(), *topics.inbound, topics.retry}
    document = {
        "asyncapi": "3.0.0",
        "info": {"title": topics.application.name, "version": version("verdict-cqrs")},
        "defaultContentType": "application/avro",
        "channels": {name: _channel(topic, found.get(name)) for name, topic in every.items()},
        "operations": {name: _operation(name, name in taken) for name in every},
        "components": {"messages": {one.subject: _message(one) for one in found.values()}},
    }
    return json.dumps(document, indent=2)


def _channel(topic: Topic, schema: SchemaVersion | None) -> dict[str, Any]:
    told = {name: int(topic.settings[name]) for name in NUMBERS if name in topic.settings}
    policy = {"cleanup.policy": topic.settings["cleanup.policy"].split(",")}
    kafka = {
        "topic": topic.name,
        "partitions": topic.partitions,
        "topicConfiguration": policy | told,
        **BINDING,
    }
    refers = schema and {schema.subject: {"$ref": f"#/components/messages/{schema.subject}"}}
    return {"address": topic.name, "messages": refers or {}, "bindings": {"kafka": kafka}}


def _operation(name: str, taken: bool) -> dict[str, Any]:
    return {
        "action": "receive" if taken else "send",
        "channel": {"$ref": f"#/channels/{name}"},
    }


def _message(schema: SchemaVersion) -> dict[str, Any]:
    """Say what a record holds; the id of its schema is in the bytes before it."""
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
