"""`/openapi.json`: the OpenAPI document.

FastAPI describes what is the same in every application, by `verdict.http.bodies`. This module adds
the commands, states, events and views of the application: each view has a path of its own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import reduce
from importlib.metadata import version
from operator import or_
from typing import Any, Literal, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, create_model

from verdict.adapters.sql.readers.reader import Access
from verdict.http.auth import TOKEN
from verdict.http.bodies import CommandResponse
from verdict.http.responses import REFERENCE, ProblemDetails, problems
from verdict.http.sse import EventStream, numbered
from verdict.model.application import Application
from verdict.model.command_envelope import CommandEnvelope, CommandId, Expectation
from verdict.model.message import LARGEST, JsonObject, Message
from verdict.model.personal import personal_paths
from verdict.read_side.projections.documented_view import View, ViewColumn, about_view, columns_of
from verdict.read_side.schema.system_views import views_for
from verdict.settings.settings import Settings

Schema = JsonObject

NULL = {"type": "null"}
TEXT: Schema = {"type": "string"}
TIME: Schema = {"type": "string", "format": "date-time"}
INTEGER: Schema = {"type": "integer", "minimum": -LARGEST - 1, "maximum": LARGEST}
COLUMNS: Mapping[str, Schema] = {  # of a row
    "integer": INTEGER,
    "boolean": {"type": "integer", "enum": [0, 1]},
    "text": TEXT,
    "time": TIME,
    "bytes": {"type": "string", "contentEncoding": "base64"},
}
FILTERS: Mapping[str, Schema] = {  # of filters
    "integer": INTEGER, "boolean": {"type": "boolean"}, "text": TEXT, "time": TIME,
}  # fmt: skip
ABOUT = """\
Send commands, and read their outcomes. Reading needs no token, but without it personal fields are
null. Errors are problem details (RFC 9457)."""
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
    schemas |= _schemas_of(ProblemDetails) | _schemas_of(CommandResponse)
    application = settings.application
    _describe_commands(application, paths, schemas)
    _describe_states(application, schemas)
    _describe_events(application, schemas)
    describe_views(paths, schemas, settings)
    for path in ("/state/{aggregate}/{id}", "/history/{aggregate}/{id}"):
        set_choices(paths[path]["get"], "aggregate", application.aggregate_types)
    for operation in (one for methods in paths.values() for one in methods.values()):
        for parameter in operation.get("parameters", ()):
            parameter["schema"] = _not_null(parameter["schema"])
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
    """Give the commands of each aggregate type a path of their own, with their envelope."""
    send = paths.pop("/commands/{aggregate}")["post"]
    send["parameters"] = [one for one in send["parameters"] if one["in"] != "path"]
    for kind in application.aggregate_types:
        prefix = f"{kind}_command"
        envelope = _envelope(application, kind).model_json_schema(
            ref_template=f"{REFERENCE}{prefix}.{{model}}"
        )
        schemas |= {f"{prefix}.{name}": one for name, one in envelope.pop("$defs", {}).items()}
        envelope["properties"]["expected_version"] = EXPECTED
        schemas[prefix] = envelope
        content = {"application/json": {"schema": reference(prefix)}}
        body = {"required": True, "content": content}
        operation = deepcopy(send) | {"operationId": f"send_{prefix}", "requestBody": body}
        paths[f"/commands/{kind}"] = {"post": operation}


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
    mapping = {}
    for kind in application.aggregate_types:
        prefix, state = f"{kind}_state", application.aggregate(kind).state
        schemas |= _state_schemas(state, prefix)
        schemas[prefix] = deepcopy(schemas["State"])
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


def _state_schemas(state: type[Message], prefix: str) -> dict[str, Schema]:
    """Return the schemas of a state: responses have all fields, and may hide personal ones."""
    found = _schemas_of(state, f"{prefix}.{state.__name__}", f"{prefix}.")
    personal = {path[-1] for path in personal_paths(state)}
    for schema in found.values():
        if properties := schema.get("properties"):
            schema["required"] = [*properties]
            for name in personal & {*properties}:
                properties[name] = {"anyOf": [properties[name], NULL]}
    return found


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


def _not_null(schema: Schema) -> Schema:
    """Return the schema of a parameter without null: one that is not given is left out."""
    given = [one for one in schema.get("anyOf", ()) if one != NULL]
    if len(given) != 1:
        return schema
    only: Schema = given[0]
    return only | {name: part for name, part in schema.items() if name != "anyOf"}


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


def reference(name: str) -> Schema:
    """Return a reference to a schema by its name."""
    return {"$ref": f"{REFERENCE}{name}"}


def set_choices(operation: Schema, name: str, choices: Sequence[str]) -> None:
    """Restrict a parameter of an operation to these texts, if there are any."""
    [found] = [one for one in operation["parameters"] if one["name"] == name]
    found["schema"] = {"type": "string", "enum": [*choices]} if choices else TEXT


def describe_views(paths: Schema, schemas: dict[str, Schema], settings: Settings) -> None:
    """Give each view a path of its own, with its columns; FastAPI described the rest."""
    every, open_to_all = (views_for(settings, sees) for sees in (Access.SUPPORT, Access.READER))
    read = paths.pop("/read/{view}")["get"]
    for name, view in every.items():
        columns = columns_of(view)
        schemas[f"{name}_row"] = _row(columns, about_view(view))
        schemas[f"{name}_rows"] = deepcopy(schemas["ViewRows"])
        schemas[f"{name}_rows"]["properties"]["rows"]["items"] = reference(f"{name}_row")
        paths[f"/read/{name}"] = {"get": _read(read, name, view, name not in open_to_all)}
    del schemas["ViewRows"]
    schemas["Outcome"] = _outcome(schemas["outcome_row"], schemas["CommandResponse"])
    feeds, follow = [*numbered(every.items())], paths["/feed/{view}"]["get"]
    set_choices(follow, "view", feeds)
    _describe_stream(follow, {"anyOf": [reference(f"{name}_row") for name in feeds]})
    _describe_stream(paths["/outcome/{command_id}"]["get"], reference("Outcome"))


def _describe_stream(operation: Schema, data: Schema) -> None:
    """Describe server-sent events as OpenAPI 3.2 does; readers of 3.1 ignore it."""
    text = {"type": "string", "contentMediaType": "application/json", "contentSchema": data}
    event = {"type": "object", "properties": {"id": TEXT, "data": text}, "required": ["id", "data"]}
    operation["responses"]["200"]["content"] = {EventStream.media_type: {"itemSchema": event}}


def _read(read: Schema, name: str, view: View, needs_token: bool) -> Schema:
    """Return the operation that reads one view, from the one that reads any."""
    operation = deepcopy(read)
    operation["operationId"], operation["tags"] = f"read_{name}", ["views"]
    operation["description"] = about_view(view) or f"The rows of the view {name}."
    filters = [_filter(column) for column in columns_of(view) if column.type in FILTERS]
    others = [one for one in operation["parameters"] if one["in"] != "path"]
    operation["parameters"] = [*filters, *others]
    content = {"application/json": {"schema": reference(f"{name}_rows")}}
    operation["responses"]["200"]["content"] = content
    if needs_token:
        operation["security"] = [{TOKEN.scheme_name: []}]
        operation["responses"] |= {str(status): one for status, one in problems(401).items()}
    return operation


def _row(columns: Iterable[ViewColumn], about: str) -> Schema:
    properties = {
        one.name: _cell(COLUMNS.get(one.type, {}))
        | ({"description": one.about} if one.about else {})
        for one in columns
    }
    return {
        "type": "object",
        "description": about or "A row.",
        "properties": properties,
        "required": [*properties],
    }


def _cell(schema: Schema) -> Schema:
    return {"anyOf": [schema, NULL]} if schema else {}


def _filter(column: ViewColumn) -> Schema:
    return {
        "name": column.name,
        "in": "query",
        "required": False,
        "schema": FILTERS[column.type],
        "description": column.about or "Rows with this value.",
    }


def _outcome(row: Schema, response: Schema) -> Schema:
    """Return a row of the view `outcome` in the types of a response, as other routes have it."""
    names = [name for name in row["properties"] if name not in ("topic", "partition", "offset")]
    properties = response["properties"]
    types = {name: properties.get(name, row["properties"][name]) for name in names}
    return row | {
        "properties": types | {"source": properties["source"]},
        "required": [*names, "source"],
    }
