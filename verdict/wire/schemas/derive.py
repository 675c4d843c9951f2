"""Avro schemas that follow from the classes."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import EnumType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from verdict.errors import VerdictError
from verdict.model.message import JsonObject, OpenEnum, TimestampMillis

Schema = JsonObject | list[Any] | str

PRIMITIVES: dict[Any, str] = {
    int: "long",
    str: "string",
    bytes: "bytes",
    bool: "boolean",
    type(None): "null",
}
PLAIN = {"long": int, "boolean": bool}
EMPTY: dict[str, Schema] = {"array": [], "map": {}}


class DuplicateNameError(VerdictError):
    """Two types would have one name in a schema."""


class RecordSchema:
    """Builds the schema of one record, in which each named type is spelled out once.

    The words of a field become an enumeration of the field's name, with the name of the record in
    front if another field of this name has other words.

    All named types get the namespace, such as `verdict.order`. `unions` has the possible classes of
    a field of the outermost record: the payload.
    """

    def __init__(self, namespace: str, unions: Mapping[str, tuple[type, ...]]) -> None:
        self._namespace = namespace
        self._unions = unions
        self._named: dict[str, type | tuple[str, ...]] = {}  # classes, and words
        self._holder = ""

    def record(self, cls: type, name: str | None = None) -> Schema:
        """Return the schema of a dataclass, a named tuple or a pydantic model.

        A field that Avro has no type for is a TypeError, a name of two types `DuplicateNameError`.
        """
        name = name or cls.__name__
        fullname = f"{self._namespace}.{name}"
        if self._is_known(fullname, cls):
            return fullname
        holder, self._holder = self._holder, name
        unions = {} if holder else self._unions  # only the outermost record has them
        listed, hints = [], get_type_hints(cls, include_extras=True)
        for field_name in field_names(cls):
            field = self._field(field_name, hints[field_name], unions)
            listed.append(field | _default(cls, field_name, field["type"]))
        self._holder = holder
        return {"type": "record", "name": name, "namespace": self._namespace, "fields": listed}

    def _field(
        self, name: str, annotation: Any, unions: Mapping[str, tuple[type, ...]]
    ) -> JsonObject:
        if name in unions:
            return {"name": name, "type": [self.record(cls) for cls in unions[name]]}
        schema = self._of(annotation, name)
        optional = isinstance(schema, list) and schema[0] == "null"
        return {"name": name, "type": schema} | ({"default": None} if optional else {})

    def _of(self, annotation: Any, name: str) -> Schema:
        if annotation in PRIMITIVES:
            return PRIMITIVES[annotation]
        origin = get_origin(annotation)
        if origin is Annotated:
            return self._annotated(annotation, name)
        if origin in (Union, types.UnionType):
            return self._union(get_args(annotation), name)
        if origin is Literal:
            named = "".join(word.capitalize() for word in name.split("_"))
            return self._enum(named, get_args(annotation))
        if origin in (list, tuple):
            return {"type": "array", "items": self._of(get_args(annotation)[0], name)}
        if origin is dict:
            return {"type": "map", "values": self._of(get_args(annotation)[1], name)}
        if isinstance(annotation, EnumType):
            return self._enum(annotation.__name__, tuple(map(str, annotation)))
        if is_dataclass(annotation) or issubclass(annotation, BaseModel):
            return self.record(annotation)
        raise TypeError(f"field {name!r}: Avro has no type for {annotation!r}")

    def _annotated(self, annotation: Any, name: str) -> Schema:
        inner, *marks = get_args(annotation)
        if any(isinstance(mark, TimestampMillis) for mark in marks):
            return {"type": "long", "logicalType": "timestamp-millis"}
        if any(isinstance(mark, OpenEnum) for mark in marks):
            return PRIMITIVES[str]
        return self._of(inner, name)

    def _union(self, members: tuple[Any, ...], name: str) -> Schema:
        nullable = type(None) in members
        rest = [self._of(member, name) for member in members if member is not type(None)]
        return ["null", *rest] if nullable else rest

    def _enum(self, name: str, symbols: tuple[str, ...]) -> Schema:
        fullname = f"{self._namespace}.{name}"
        if self._named.get(fullname, symbols) != symbols:
            name = self._holder + name
            fullname = f"{self._namespace}.{name}"
        if self._is_known(fullname, symbols):
            return fullname
        return {"type": "enum", "name": name, "namespace": self._namespace, "symbols": [*symbols]}

    def _is_known(self, fullname: str, named: type | tuple[str, ...]) -> bool:
        """Return whether a type is spelled out already; from now on it is."""
        met, self._named[fullname] = self._named.get(fullname), named
        if met not in (None, named):
            raise DuplicateNameError(
                f"{_spelled(named)} and {_spelled(met)} would both be {fullname} in schemas: give "
                "one of them another name"
            )
        return met is not None


def _spelled(named: type | tuple[str, ...]) -> str:
    if isinstance(named, tuple):
        return f"a field with the words {', '.join(named)}"
    return f"{named.__module__}.{named.__qualname__}"


def field_names(cls: Any) -> list[str]:
    """Return the fields of a dataclass, a named tuple or a pydantic model, in their order."""
    if is_dataclass(cls):
        return [field.name for field in fields(cls)]
    return [*(getattr(cls, "_fields", None) or cls.model_fields)]


def _default(cls: Any, name: str, schema: Schema) -> JsonObject:
    """Return the default for readers of older bytes; an optional field has null already."""
    found = _default_of(cls, name)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(kind, list) or found is None:
        return {}
    if isinstance(found, str) and kind not in ("array", "map", "bytes"):  # or of an enumeration
        return {"default": str(found)}
    if type(found) is PLAIN.get(kind):
        return {"default": found}
    return {"default": EMPTY[kind]} if kind in EMPTY and not found else {}


def _default_of(cls: Any, name: str) -> Any:
    """Return the default of a field; None if it has none."""
    if is_dataclass(cls):
        field = next(one for one in fields(cls) if one.name == name)
        return None if field.default_factory is MISSING else field.default_factory()
    if issubclass(cls, BaseModel):
        field = cls.model_fields[name]
        return None if field.is_required() else field.get_default(call_default_factory=True)
    return cls._field_defaults.get(name)
