"""`/openapi.json`: what programs may ask and send, and what they are answered with.

FastAPI describes what is alike in every application, by `verdict.page.bodies`. What differs is
added here, by the classes of the application: its commands, states and events, and its views.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import reduce
from importlib.metadata import version
from operator import or_
from typing import Any, Literal, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, create_model

from verdict.application import current
from verdict.configuration.settings import Settings
from verdict.model.command_envelope import CommandEnvelope, CommandId, Expectation
from verdict.model.message import LARGEST, Message
from verdict.model.personal import personal_paths
from verdict.page.commands import command_path
from verdict.page.door import TOKEN
from verdict.page.feeds import numbered
from verdict.page.problem import REFERENCE, NotLive, NotReady, Problem, problems
from verdict.projection.described import View, ViewColumn, about_view, columns_of
from verdict.reading.reader import Sees
from verdict.reading.views import views_for

Schema = dict[str, Any]

ABOUT = """\
Send commands, and read what became of them. Reading needs no token, but personal fields are null
without it. Errors are problem details (RFC 9457), except those of the schema registry."""
NULL = {"type": "null"}
TEXT: Schema = {"type": "string"}
TIME: Schema = {"type": "string", "format": "date-time"}
INTEGER: Schema = {"type": "integer", "minimum": -LARGEST - 1, "maximum": LARGEST}
EXPECTED: Schema = {
    "anyOf": [{**INTEGER, "minimum": 0}, {"type": "string", "enum": [*Expectation]}]
}
COLUMNS: Mapping[str, Schema] = {  # what a row of a view has
    "integer": INTEGER,
    "boolean": {"type": "integer", "enum": [0, 1]},
    "text": TEXT,
    "time": TIME,
    "bytes": {"type": "string", "contentEncoding": "base64"},
}
SHAPES = (
    "type",
    "properties",
    "anyOf",
    "oneOf",
    "allOf",
    "enum",
    "const",
    "$ref",
    "items",
    "default",
)
FILTERS: Mapping[str, Schema] = {  # what rows can be chosen by
    "integer": INTEGER, "boolean": {"type": "boolean"}, "text": TEXT, "time": TIME,
}  # fmt: skip


def described(page: FastAPI, settings: Settings) -> Schema:
    """Return the OpenAPI document of a page."""
    document = get_openapi(
        title=page.title,
        version=version("verdict-cqrs"),
        description=ABOUT,
        routes=page.routes,
    )
    paths, schemas = document["paths"], document["components"]["schemas"]
    models: list[type[BaseModel]] = [Problem, NotLive, NotReady]
    for kind in models:
        schemas |= _schemas_of(kind)
    _describe_commands(paths, schemas)
    _describe_states(schemas)
    _describe_events(schemas)
    _describe_views(paths, schemas, settings)
    kinds = {"type": "string", "enum": [*current().aggregate_types]}
    for path in ("/state/{aggregate}/{id}", "/history/{aggregate}/{id}"):
        _parameter(paths[path]["get"], "aggregate")["schema"] = kinds
    _drop_titles(document)
    return document


def _reference(name: str) -> Schema:
    return {"$ref": f"{REFERENCE}{name}"}


def _schemas_of(kind: type[BaseModel], name: str = "", prefix: str = "") -> dict[str, Schema]:
    """Return the schemas of what is answered with a class, and of what it refers to, by name."""
    template = f"{REFERENCE}{prefix}{{model}}"
    schema = kind.model_json_schema(mode="serialization", ref_template=template)
    parts = schema.pop("$defs", {})
    return {f"{prefix}{part}": found for part, found in parts.items()} | {
        name or f"{prefix}{kind.__name__}": schema
    }


def _describe_commands(paths: Schema, schemas: dict[str, Schema]) -> None:
    for kind in current().aggregate_types:
        prefix = f"{kind}_command"
        envelope = _envelope(kind).model_json_schema(ref_template=f"{REFERENCE}{prefix}.{{model}}")
        schemas |= {f"{prefix}.{name}": one for name, one in envelope.pop("$defs", {}).items()}
        envelope["properties"]["expected_version"] = EXPECTED
        schemas[prefix] = envelope
        content = {"application/json": {"schema": _reference(prefix)}}
        paths[command_path(kind)]["post"]["requestBody"] = {"required": True, "content": content}


def _envelope(kind: str) -> type[BaseModel]:
    """Return the envelope of commands with the payloads of one aggregate type."""
    named = _with_type(current().aggregate(kind).command_types)
    payload: Any = reduce(or_, named)
    return create_model(
        "Command",
        __base__=CommandEnvelope,
        __doc__=f"A command to an aggregate of type {kind}; without a `command_id` it gets one.",
        payload=(payload, ...),
        command_id=(CommandId | None, None),
    )


def _with_type(classes: Mapping[str, type[Message]]) -> list[type[Message]]:
    """Return classes whose JSON has the name of the class as its `type`."""
    return [
        create_model(
            name, __base__=kind, __doc__=kind.__doc__, type=(cast(Any, Literal[name]), ...)
        )
        for name, kind in sorted(classes.items())
    ]


def _describe_states(schemas: dict[str, Schema]) -> None:
    """Describe a state by the class that the rules use, told apart by the aggregate type."""
    about, mapping = schemas["State"], {}
    for kind in current().aggregate_types:
        state: type[Message] = current().aggregate(kind).state
        prefix = f"{kind}_state"
        schemas |= _schemas_of(state, f"{prefix}.{state.__name__}", f"{prefix}.")
        _require_all(schemas, prefix)
        for path in personal_paths(state):
            _allow_null(schemas, schemas[f"{prefix}.{state.__name__}"], path)
        schemas[prefix] = deepcopy(about)
        schemas[prefix]["properties"] |= {
            "aggregate_type": {"type": "string", "const": kind},
            "state": {"anyOf": [_reference(f"{prefix}.{state.__name__}"), NULL]},
        }
        mapping[kind] = f"{REFERENCE}{prefix}"
    if mapping:
        schemas["State"] = {
            "oneOf": [{"$ref": one} for one in mapping.values()],
            "discriminator": {"propertyName": "aggregate_type", "mapping": mapping},
        }


def _require_all(schemas: dict[str, Schema], prefix: str) -> None:
    """Let what is answered with always have all of its fields: defaults are written, too."""
    for name, schema in schemas.items():
        if name.startswith(f"{prefix}.") and (properties := schema.get("properties")):
            schema["required"] = [*properties]


def _allow_null(schemas: dict[str, Schema], schema: Schema, path: tuple[str, ...]) -> None:
    """Let a personal field be null: a reader without the token gets that."""
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


def _describe_events(schemas: dict[str, Schema]) -> None:
    """Describe the payload of an event by the classes of all events."""
    found: list[str] = []
    for kind in current().aggregate_types:
        for event in _with_type(current().aggregate(kind).event_types):
            name = f"{kind}_event.{event.__name__}"
            schemas |= _schemas_of(event, name, f"{kind}_event.")
            found.append(name)
    if found:
        about = schemas["EventPayload"]["description"]
        payloads = {"anyOf": [_reference(name) for name in found]}
        schemas["EventPayload"] = {"description": about, **payloads}


def _describe_views(paths: Schema, schemas: dict[str, Schema], settings: Settings) -> None:
    """Give each view an address of its own, with its columns; what is alike comes from FastAPI."""
    every, open_to_all = (views_for(settings, sees) for sees in (Sees.OPERATOR, Sees.READER))
    read = paths.pop("/read/{view}")["get"]
    for name, view in every.items():
        columns = columns_of(view)
        schemas[f"{name}_row"] = _row(columns, about_view(view))
        schemas[f"{name}_rows"] = deepcopy(schemas["Rows"])
        schemas[f"{name}_rows"]["properties"]["rows"]["items"] = _reference(f"{name}_row")
        paths[f"/read/{name}"] = {"get": _read(read, name, view, name not in open_to_all)}
    del schemas["Rows"]
    feeds = {"type": "string", "enum": [*numbered(open_to_all.items())]}
    _parameter(paths["/feed/{view}"]["get"], "view")["schema"] = feeds
    schemas["Outcome"] = _outcome(schemas["outcome_row"], schemas["CommandResponse"])


def _read(read: Schema, name: str, view: View, needs_token: bool) -> Schema:
    """Return the operation that reads a view, of the one that reads any."""
    operation = deepcopy(read)
    operation["operationId"] = f"read_{name}"
    operation["summary"] = about_view(view) or f"The rows of the view {name}."
    filters = [_filter(column) for column in columns_of(view) if column.type in FILTERS]
    others = [one for one in operation["parameters"] if one["in"] != "path"]
    operation["parameters"] = [*filters, *others]
    content = {"application/json": {"schema": _reference(f"{name}_rows")}}
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
    """Return how a row of the view `outcome` is told elsewhere: in the types of a response."""
    names = [name for name in row["properties"] if name not in ("topic", "partition", "offset")]
    properties = response["properties"]
    told = {name: properties.get(name, row["properties"][name]) for name in names}
    return row | {
        "properties": told | {"source": properties["source"]},
        "required": [*names, "source"],
    }


def _parameter(operation: Schema, name: str) -> Schema:
    return next(one for one in operation["parameters"] if one["name"] == name)


def _drop_titles(document: Any) -> None:
    """Drop what generators would take for names of classes, in place of the names here."""
    if isinstance(document, dict):
        if isinstance(document.get("title"), str) and document.keys() & {*SHAPES}:
            del document["title"]
        for name, part in document.items():
            if name not in ("default", "example", "examples", "const", "enum"):
                _drop_titles(part)
    elif isinstance(document, list):
        for part in document:
            _drop_titles(part)
