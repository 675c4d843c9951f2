"""What a field takes, in words, by the JSON Schema that pydantic gives of its class. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from verdict.model.message import LARGEST, Message
from verdict.model.personal import personal_paths

Schema = Mapping[str, Any]

WORDS = {  # of JSON Schema's formats and types
    "date-time": "time",
    "base64url": "base64",
    "password": "secret",
    "path": "path",
    "file-path": "path",
    "string": "text",
    "array": "list",
    "object": "table",
}
BOUNDS = {
    "exclusiveMinimum": "> {}",
    "minimum": "≥ {}",
    "exclusiveMaximum": "< {}",
    "maximum": "≤ {}",
    "minLength": "{} characters or more",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "pattern": "matches {}",
}
OFTEN = {
    ("minLength", 1): "not empty",
    ("maximum", LARGEST): "",  # what Avro can hold, and no character that databases refuse
    ("pattern", r"^[^\x00]+$"): "",
}
REQUIRED = "required"


class Field(NamedTuple):
    """A field of a message, or of a message in it."""

    field: str
    type: str
    bounds: str
    default: str
    about: str


def fields_of(kind: type[Message]) -> list[Field]:
    """Return what a message takes, the fields of messages in it behind the one that has them."""
    schema = kind.model_json_schema()
    personal = {".".join(path) for path in personal_paths(kind)}
    return [
        field._replace(about="; ".join(filter(None, (field.about, "personal"))))
        if field.field in personal
        else field
        for field in _fields(schema, schema.get("$defs", {}))
    ]


def type_of(schema: Schema) -> str:
    """Return which values a JSON Schema takes, in a word or a few."""
    if others := schema.get("anyOf"):
        named = dict.fromkeys(type_of(one) for one in others if one.get("type") != "null")
        return "time" if "time" in named else " or ".join(named)  # a time can be a number, too
    if "$ref" in schema:
        return _name(schema)
    if values := schema.get("enum"):
        return ", ".join(map(str, values))
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array" and (items := type_of(schema.get("items", {}))):
        return f"list of {items}"
    name = str(schema.get("format") or schema.get("type", ""))
    return WORDS.get(name, name)


def _fields(schema: Schema, known: Mapping[str, Schema], before: str = "") -> Iterator[Field]:
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        default = REQUIRED if name in required else _default(one)
        path = f"{before}{name}"
        yield Field(path, _type(one, known), _bounds(one), default, one.get("description", ""))
        yield from _inner(one, known, path)


def _inner(schema: Schema, known: Mapping[str, Schema], path: str) -> Iterator[Field]:
    """Yield the fields of the messages that a field holds."""
    for one in schema.get("anyOf", ()):
        yield from _inner(one, known, path)
    if schema.get("type") == "array":
        yield from _inner(schema.get("items", {}), known, f"{path}[]")
    if "$ref" in schema:
        yield from _fields(known[_name(schema)], known, f"{path}.")


def _type(schema: Schema, known: Mapping[str, Schema]) -> str:
    """Return the type of a field; of an enumeration, its values."""
    named = type_of(schema)
    values = known.get(named, {})
    return type_of(values) if "enum" in values else named


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _bounds(schema: Schema) -> str:
    if others := schema.get("anyOf"):
        if type_of(schema) == "time":
            return ""
        return " or ".join(filter(None, map(_bounds, others)))
    found = [
        OFTEN.get((name, schema[name]), said.format(schema[name]))
        for name, said in BOUNDS.items()
        if name in schema
    ]
    if "items" in schema and (each := _bounds(schema["items"])):
        found.append(f"each {each}")
    return ", ".join(filter(None, found))


def _default(schema: Schema) -> str:
    value = schema.get("default")
    return "none" if value is None else str(value)
