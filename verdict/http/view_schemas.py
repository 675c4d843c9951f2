"""Views in `/openapi.json`: each has a path of its own, with its columns."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy

from verdict.adapters.sql.readers.reader import Access
from verdict.http.auth import TOKEN
from verdict.http.responses import REFERENCE, JsonObject, problems
from verdict.http.sse import EventStream, numbered
from verdict.model.message import LARGEST
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
    operation["operationId"] = f"read_{name}"
    operation["summary"] = about_view(view) or f"The rows of the view {name}."
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
