"""Which schemas are accepted: newer ones read what older ones wrote, and bytes bound their memory.

Two things that Avro allows break the bound. A record that contains records of its own kind nests as
deep as a sender likes, and fastavro ends the process with a stack overflow at some ten thousand
levels. Array items without bytes (null, a record without fields) come in any number: 10 bytes ask
for 2**62 of them.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

Types = Mapping[str, Any]  # full name -> record or enumeration, as the package `avro` has it
Definition = dict[str, Any]  # a type as `fastavro` has it
Definitions = dict[str, Definition]


def lost_in(older: Any, newer: Any) -> list[str]:
    """Return why the newer schema does not read what the older one wrote; empty if it does."""
    before, after = _types(json.dumps(older)), _types(json.dumps(newer))
    problem = _problem(next(iter(after.values())), next(iter(before.values())))
    if problem is None:
        return []
    alike = [(before[name], after[name]) for name in before if name in after]
    found = [
        one for was, becomes in alike if was.type == becomes.type for one in _lost(was, becomes)
    ]
    return found or [problem]


def _lost(was: Any, becomes: Any) -> Iterator[str]:
    """Yield what the newer one of two records, or of two enumerations, does not read."""
    if was.type == "enum":
        if gone := [one for one in was.symbols if one not in becomes.symbols]:
            yield f"{becomes.name} does not have {', '.join(gone)} any more"
        return
    for field in becomes.fields:
        name, old = f"{becomes.name}.{field.name}", was.fields_dict.get(field.name)
        if old is None:
            if not field.has_default:
                yield f"{name} is new and has no default: give it one"
        elif _problem(field.type, old.type) is not None:
            shown = _shown(old.type), _shown(field.type)
            if shown[0] != shown[1]:  # else the reason is in a type that both name
                yield f"{name} was {shown[0]}, and becomes {shown[1]}"


def _problem(reader: Any, writer: Any) -> str | None:
    from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

    checker: Any = ReaderWriterCompatibilityChecker  # untyped, and its annotations are wrong
    found = checker().get_compatibility(reader, writer)
    if found.compatibility is SchemaCompatibilityType.compatible:
        return None
    return f"{'; '.join(sorted(found.messages))} (at {max(found.locations, key=len)})"


@lru_cache(maxsize=64)
def _types(schema: str) -> Types:
    from avro.name import Names  # a package that nothing else needs
    from avro.schema import make_avsc_object

    names = Names()
    make_avsc_object(json.loads(schema), names)
    return names.names


def _shown(schema: Any) -> str:
    if schema.type == "union":
        return " or ".join(map(_shown, schema.schemas))
    if schema.type == "array":
        return f"a list of {_shown(schema.items)}"
    if schema.type == "map":
        return f"a map of {_shown(schema.values)}"
    return str(getattr(schema, "name", schema.type))


def gone_from(older: Any, newer: Any) -> list[str]:
    """Return the fields of records that only the older schema has: Avro reads on without them."""
    before, after = _types(json.dumps(older)), _types(json.dumps(newer))
    return [
        f"{before[name].name}.{field}"
        for name in before
        if name in after
        for field in getattr(before[name], "fields_dict", ())
        if field not in getattr(after[name], "fields_dict", ())
    ]


def known_fields(schema: Any, name: str, value: Any) -> Any:
    """Return a value of the record `name` without the fields that a schema does not have."""
    types = _types(json.dumps(schema)).values()
    return next((_known_part(one, value) for one in types if one.name == name), value)


def _known_part(schema: Any, value: Any) -> Any:
    if schema.type == "union":  # of several kinds, of which JSON tells one
        inner = [one for one in schema.schemas if one.type in ("record", "array", "map")]
        return _known_part(inner[0], value) if inner else value
    if schema.type == "record" and isinstance(value, dict):
        fields = schema.fields_dict
        return {
            key: _known_part(fields[key].type, one) if key in fields else one
            for key, one in value.items()
            if key in fields or key == "type"
        }
    if schema.type == "map" and isinstance(value, dict):
        return {key: _known_part(schema.values, one) for key, one in value.items()}
    if schema.type == "array" and isinstance(value, list):
        return [_known_part(schema.items, one) for one in value]
    return value


class UnboundedSchemaError(ValueError):
    """A few bytes of this schema could take any amount of memory, or end the process."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"schema of {name}: {reason}")


def require_bounded(name: str, schema: Any) -> None:
    """Raise unless the memory of a value is bounded by a multiple of its bytes.

    Raises:
        UnboundedSchemaError: The message names the part that breaks the bound.
    """
    import fastavro  # slow to load

    named: Definitions = {}
    parsed = fastavro.parse_schema(schema, named_schemas=named)  # spells every name in full
    for reason in _reasons(parsed, named, ()):
        raise UnboundedSchemaError(name, reason)


def _reasons(schema: Any, named: Definitions, inside: tuple[str, ...]) -> Iterator[str]:
    """Yield what is unbounded in `schema`, inside of these records."""
    for part in schema if isinstance(schema, list) else [schema]:
        found = _definition(part, named)
        if found["type"] == "record":
            yield from _reasons_of_record(found, named, inside)
        elif found["type"] == "array":
            yield from _reasons(found["items"], named, inside)
            if not _takes_bytes(found["items"], named):
                yield (
                    "the items of an array take no bytes, so a short value can hold any number of "
                    "them: give them a field, or count them"
                )
        elif found["type"] == "map":  # its keys take bytes
            yield from _reasons(found["values"], named, inside)


def _reasons_of_record(
    record: Definition, named: Definitions, inside: tuple[str, ...]
) -> Iterator[str]:
    name = record["name"]
    if name in inside:
        yield f"record {name} holds itself, so it nests as deep as a sender likes: use a list"
        return
    for field in record["fields"]:
        yield from _reasons(field["type"], named, (*inside, name))


def _takes_bytes(schema: Any, named: Definitions) -> bool:
    """Return whether each value of `schema` takes a byte or more."""
    if isinstance(schema, list):
        return True  # the number of the member
    found = _definition(schema, named)
    if found["type"] == "record":
        return any(_takes_bytes(field["type"], named) for field in found["fields"])
    if found["type"] == "fixed":
        return bool(found["size"])
    return bool(found["type"] != "null")


def _definition(schema: Any, named: Definitions) -> Definition:
    """Return the definition of a type, of a name, or of a primitive type."""
    if isinstance(schema, str):
        return named.get(schema, {"type": schema})
    found: Definition = schema
    return found
