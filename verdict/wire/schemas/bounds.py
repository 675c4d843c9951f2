"""Which schemas are safe to read hostile bytes with: memory and time must follow from the bytes.

Two things that Avro allows break that. A record that holds records of its own kind is as deep as
the sender likes, and fastavro ends the process with a stack overflow at some ten thousand levels.
Array items that take no bytes (null, a record without fields) come in any number: 10 bytes ask for
2**62 of them.
"""

from collections.abc import Iterator
from typing import Any


class UnboundedSchemaError(ValueError):
    """A few bytes of this schema could take any amount of memory, or the process with them."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"schema of {name}: {reason}")


def require_bounded(name: str, schema: Any) -> None:
    """Return if the memory that a value of `schema` takes is bounded by a multiple of its bytes.

    Raises:
        UnboundedSchemaError: Says which part of it breaks that.
    """
    import fastavro  # which who reads no schema need not wait for

    named: dict[str, Any] = {}
    parsed = fastavro.parse_schema(schema, named_schemas=named)  # spells every name in full
    for reason in _reasons(parsed, named, ()):
        raise UnboundedSchemaError(name, reason)


def _reasons(schema: Any, named: dict[str, Any], inside: tuple[str, ...]) -> Iterator[str]:
    """Yield what is unbounded in `schema`, which lies in the records `inside`."""
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
    record: dict[str, Any], named: dict[str, Any], inside: tuple[str, ...]
) -> Iterator[str]:
    name = record["name"]
    if name in inside:
        yield f"record {name} holds itself, so it nests as deep as a sender likes: use a list"
        return
    for field in record["fields"]:
        yield from _reasons(field["type"], named, (*inside, name))


def _takes_bytes(schema: Any, named: dict[str, Any]) -> bool:
    """Whether each value of `schema`, in which no record holds itself, takes a byte or more."""
    if isinstance(schema, list):
        return True  # which member it is
    found = _definition(schema, named)
    if found["type"] == "record":
        return any(_takes_bytes(field["type"], named) for field in found["fields"])
    if found["type"] == "fixed":
        return bool(found["size"])
    return bool(found["type"] != "null")


def _definition(schema: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Return a type spelled out, whether it is given as itself, by name, or as a word."""
    found: dict[str, Any] = (
        named.get(schema, {"type": schema}) if isinstance(schema, str) else schema
    )
    return found
