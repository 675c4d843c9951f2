"""`/openapi.json`: the OpenAPI document.

FastAPI describes what is the same in every application, by `verdict.http.bodies`. This module adds
the commands, states, events and views of the application.
"""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import reduce
from importlib.metadata import version
from operator import or_
from typing import Any, Literal, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, create_model

from verdict.http.bodies import CommandResponse
from verdict.http.commands import command_path
from verdict.http.responses import REFERENCE, NotLive, NotReady, ProblemDetails
from verdict.http.view_schemas import INTEGER, NULL, Schema, describe_views, reference, set_choices
from verdict.model.application import Application
from verdict.model.command_envelope import CommandEnvelope, CommandId, Expectation
from verdict.model.message import Message
from verdict.model.personal import personal_paths
from verdict.settings.settings import Settings

ABOUT = """\
Send commands, and read their outcomes. Reading needs no token, but without it personal fields are
null. Errors are problem details (RFC 9457), except those of the schema registry."""
EXPECTED: Schema = {
    "anyOf": [{**INTEGER, "minimum": 0}, {"type": "string", "enum": [*Expectation]}]
}


def described_as_json(page: FastAPI, settings: Settings) -> bytes:
    """Return the document as JSON; it takes a second, and never changes."""
    return json.dumps(described(page, settings)).encode()


def described(page: FastAPI, settings: Settings) -> Schema:
    """Return the document."""
    document = get_openapi(
        title=page.title,
        version=version("verdict-cqrs"),
        description=ABOUT,
        routes=page.routes,
    )
    paths, schemas = document["paths"], document["components"]["schemas"]
    models: list[type[BaseModel]] = [ProblemDetails, NotLive, NotReady, CommandResponse]
    for kind in models:
        schemas |= _schemas_of(kind)
    application = settings.application
    _describe_commands(application, paths, schemas)
    _describe_states(application, schemas)
    _describe_events(application, schemas)
    describe_views(paths, schemas, settings)
    for path in ("/state/{aggregate}/{id}", "/history/{aggregate}/{id}"):
        set_choices(paths[path]["get"], "aggregate", application.aggregate_types)
    _drop_titles([paths, schemas])
    return document


def _schemas_of(kind: type[BaseModel], name: str = "", prefix: str = "") -> dict[str, Schema]:
    """Return the schemas of a class in responses, and of what it refers to, by name."""
    template = f"{REFERENCE}{prefix}{{model}}"
    schema = kind.model_json_schema(mode="serialization", ref_template=template)
    parts = schema.pop("$defs", {})
    return {f"{prefix}{part}": found for part, found in parts.items()} | {
        name or f"{prefix}{kind.__name__}": schema
    }


def _describe_commands(application: Application, paths: Schema, schemas: dict[str, Schema]) -> None:
    for kind in application.aggregate_types:
        prefix = f"{kind}_command"
        envelope = _envelope(application, kind).model_json_schema(
            ref_template=f"{REFERENCE}{prefix}.{{model}}"
        )
        schemas |= {f"{prefix}.{name}": one for name, one in envelope.pop("$defs", {}).items()}
        envelope["properties"]["expected_version"] = EXPECTED
        schemas[prefix] = envelope
        content = {"application/json": {"schema": reference(prefix)}}
        paths[command_path(kind)]["post"]["requestBody"] = {"required": True, "content": content}


def _envelope(application: Application, kind: str) -> type[BaseModel]:
    """Return the envelope of commands with the payloads of one aggregate type."""
    named = _with_type(application.aggregate(kind).command_types)
    payload: Any = reduce(or_, named)
    return create_model(
        "Command",
        __base__=CommandEnvelope,
        __doc__=f"A command to an aggregate of type {kind}; the page adds a missing `command_id`.",
        payload=(payload, ...),
        command_id=(CommandId | None, None),
    )


def _with_type(classes: Mapping[str, type[Message]]) -> list[type[Message]]:
    """Return the classes with a field `type` that is the name of the class."""
    return [
        create_model(
            name, __base__=kind, __doc__=kind.__doc__, type=(cast(Any, Literal[name]), ...)
        )
        for name, kind in sorted(classes.items())
    ]


def _describe_states(application: Application, schemas: dict[str, Schema]) -> None:
    """Describe a state by the class of the rules, with the aggregate type as discriminator."""
    about, mapping = schemas["State"], {}
    for kind in application.aggregate_types:
        state: type[Message] = application.aggregate(kind).state
        prefix = f"{kind}_state"
        schemas |= _schemas_of(state, f"{prefix}.{state.__name__}", f"{prefix}.")
        _require_all(schemas, prefix)
        for path in personal_paths(state):
            _allow_null(schemas, schemas[f"{prefix}.{state.__name__}"], path)
        schemas[prefix] = deepcopy(about)
        schemas[prefix]["properties"] |= {
            "aggregate_type": {"type": "string", "const": kind},
            "state": {"anyOf": [reference(f"{prefix}.{state.__name__}"), NULL]},
        }
        mapping[kind] = f"{REFERENCE}{prefix}"
    if mapping:
        schemas["State"] = {
            "oneOf": [{"$ref": one} for one in mapping.values()],
            "discriminator": {"propertyName": "aggregate_type", "mapping": mapping},
        }


def _require_all(schemas: dict[str, Schema], prefix: str) -> None:
    """Require all fields: responses contain defaults, too."""
    for name, schema in schemas.items():
        if name.startswith(f"{prefix}.") and (properties := schema.get("properties")):
            schema["required"] = [*properties]


def _allow_null(schemas: dict[str, Schema], schema: Schema, path: tuple[str, ...]) -> None:
    """Allow null for a personal field: without the token it is null."""
    first, *rest = path
    properties = schema.get("properties", {})
    if not rest and first in properties:
        properties[first] = {"anyOf": [properties[first], NULL]}
    for name in _referred(properties.get(first)) if rest else ():
        _allow_null(schemas, schemas[name], tuple(rest))


def _referred(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix(REFERENCE)
        for part in schema.values():
            yield from _referred(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _referred(part)


def _describe_events(application: Application, schemas: dict[str, Schema]) -> None:
    """Describe the payload of an event by the classes of all events."""
    found: list[str] = []
    for kind in application.aggregate_types:
        for event in _with_type(application.aggregate(kind).event_types):
            name = f"{kind}_event.{event.__name__}"
            schemas |= _schemas_of(event, name, f"{kind}_event.")
            found.append(name)
    if found:
        about = schemas["EventPayload"]["description"]
        payloads = {"anyOf": [reference(name) for name in found]}
        schemas["EventPayload"] = {"description": about, **payloads}


def _drop_titles(document: Any) -> None:
    """Drop titles, which generators use as names of classes, and name base64 as OpenAPI does."""
    if isinstance(document, dict):
        if isinstance(document.get("title"), str):
            del document["title"]
        if document.get("format") == "base64url":  # pydantic's name for any base64
            document["format"] = "byte"
        for name, part in document.items():
            if name not in ("default", "example", "examples", "const", "enum"):
                _drop_titles(part)
    elif isinstance(document, list):
        for part in document:
            _drop_titles(part)
