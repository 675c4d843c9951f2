"""Avro's binary encoding, compiled: a schema becomes one function from an object to bytes.

Every event and every response passes here, so this is where the decider would spend its time: a
library that looks its schema up again for each field, and for each member of a union, takes three
times as long. What is written is what `fastavro` writes, which a test holds it to; reading stays
with that library. https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

Writer = Callable[[Any], bytes]

SMALLEST, LARGEST = -(2**63), 2**63 - 1


def avro_writer(schema: Any) -> Writer:
    """Return the function that writes values of `schema`.

    A record is written from the attributes of an object; a member of a union of records is chosen
    by the name of the object's class. Nothing is coerced.

    Args:
        schema: Avro as JSON would hold it: of null, boolean, long, string, bytes, enum, array,
            map, record, and unions of them. Logical types are ignored.

    Returns:
        A function that raises ValueError, TypeError, LookupError or AttributeError for a value
        that does not fit the schema.

    Raises:
        TypeError: The schema has a type that none of our classes leads to.
    """
    return _Compiler().writer(schema)


class _Compiler:
    """Compiles one schema; a type that has been spelled out may be named afterwards."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[Any, Writer]] = {}

    def writer(self, schema: Any) -> Writer:
        if isinstance(schema, list):
            return self._union(schema)
        kind = _kind(schema)
        if kind in PRIMITIVES:
            return PRIMITIVES[kind]
        if kind == "record":
            return self._remember(schema, self._record(schema))
        if kind == "enum":
            return self._remember(schema, _enum(schema["symbols"]))
        if kind == "array":
            return _array(self.writer(schema["items"]))
        if kind == "map":
            return _map(self.writer(schema["values"]))
        if kind in self._named:
            return self._named[kind][1]
        raise TypeError(f"cannot write Avro's {schema!r}")

    def _remember(self, schema: Mapping[str, Any], writer: Writer) -> Writer:
        self._named[_fullname(schema)] = schema, writer
        return writer

    def _record(self, schema: Mapping[str, Any]) -> Writer:
        writers = [self.writer(field["type"]) for field in schema["fields"]]
        names = [field["name"] for field in schema["fields"]]
        if len(names) < 2:  # attrgetter gives no tuple for one name
            return lambda value: b"".join(
                [write(getattr(value, name)) for write, name in zip(writers, names, strict=True)]
            )
        values = attrgetter(*names)
        return lambda value: b"".join(
            [write(part) for write, part in zip(writers, values(value), strict=True)]
        )

    def _union(self, members: list[Any]) -> Writer:
        indexed = [(write_long(index), self.writer(one)) for index, one in enumerate(members)]
        if members[0] == "null" and len(members) == 2:
            return _optional(*indexed[1])
        defined = [self._definition(one) for one in members]
        if all(_kind(one) == "record" for one in defined):
            return _by_class({one["name"]: at for one, at in zip(defined, indexed, strict=True)})
        return _by_type([(_class(one), *at) for one, at in zip(defined, indexed, strict=True)])

    def _definition(self, schema: Any) -> Any:
        named = isinstance(schema, str) and schema in self._named
        return self._named[schema][0] if named else schema


def write_long(value: int) -> bytes:
    """Write an integer, zigzag and in groups of seven bits.

    Raises:
        TypeError: It is no integer; a bool is none either.
        ValueError: It takes more than 64 bits.
    """
    if type(value) is not int:
        raise TypeError(f"an integer is needed, not {value!r}")
    if 0 <= value < len(SMALL):
        return SMALL[value]
    if not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{value} takes more than 64 bits")
    return _varint(value << 1 ^ value >> 63)


def _varint(rest: int) -> bytes:
    written = bytearray()
    while rest > 0x7F:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    written.append(rest)
    return bytes(written)


SMALL = [_varint(value << 1) for value in range(4096)]  # most lengths and versions


def _write_string(value: str) -> bytes:
    encoded = value.encode()
    length = len(encoded)
    return (SMALL[length] if length < len(SMALL) else write_long(length)) + encoded


def _write_bytes(value: bytes) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"bytes are needed, not {value!r}")
    return write_long(len(value)) + value


def _write_boolean(value: bool) -> bytes:
    if value is True:
        return b"\1"
    if value is False:
        return b"\0"
    raise TypeError(f"a boolean is needed, not {value!r}")


def _write_null(value: None) -> bytes:
    if value is not None:
        raise TypeError(f"nothing is needed, not {value!r}")
    return b""


PRIMITIVES: dict[str, Writer] = {
    "null": _write_null,
    "boolean": _write_boolean,
    "long": write_long,
    "string": _write_string,
    "bytes": _write_bytes,
}
CLASSES: dict[str, type] = {
    "null": type(None),
    "boolean": bool,
    "long": int,
    "string": str,
    "bytes": bytes,
    "enum": str,
}


def _enum(symbols: list[str]) -> Writer:
    written = {symbol: write_long(index) for index, symbol in enumerate(symbols)}
    return lambda value: written[value]


def _array(write: Writer) -> Writer:
    def write_array(values: list[Any]) -> bytes:
        if not values:
            return b"\0"
        return b"".join([write_long(len(values)), *map(write, values), b"\0"])

    return write_array


def _map(write: Writer) -> Writer:
    def write_map(values: Mapping[str, Any]) -> bytes:
        if not values:
            return b"\0"
        parts = [_write_string(name) + write(value) for name, value in values.items()]
        return b"".join([write_long(len(parts)), *parts, b"\0"])

    return write_map


def _optional(index: bytes, write: Writer) -> Writer:
    return lambda value: b"\0" if value is None else index + write(value)


def _by_class(members: Mapping[str, tuple[bytes, Writer]]) -> Writer:
    def write_member(value: Any) -> bytes:
        index, write = members[type(value).__name__]
        return index + write(value)

    return write_member


def _by_type(members: list[tuple[type, bytes, Writer]]) -> Writer:
    def write_first_fitting(value: Any) -> bytes:
        for kind, index, write in members:
            if isinstance(value, kind):
                return index + write(value)
        raise TypeError(f"no member of the union takes {value!r}")

    return write_first_fitting


def _class(schema: Any) -> type:
    if (kind := _kind(schema)) not in CLASSES:
        raise TypeError(f"cannot tell which values are of Avro's {schema!r}")
    return CLASSES[kind]


def _kind(schema: Any) -> Any:
    return schema["type"] if isinstance(schema, dict) else schema


def _fullname(schema: Mapping[str, Any]) -> str:
    namespace = schema.get("namespace")
    return f"{namespace}.{schema['name']}" if namespace else str(schema["name"])
