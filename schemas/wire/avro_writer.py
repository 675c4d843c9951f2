"""Avro's binary encoding, compiled: a schema becomes the source of one function, once.

Every event and every response passes here, so this is where the decider would spend its time: a
library that looks into its schema for each field, and into each member of a union, takes three
times as long. What is written is what `fastavro` writes, which a test holds it to; reading stays
with that library. https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

from collections.abc import Callable
from itertools import count
from typing import Any

Writer = Callable[[Any], bytes]

SMALLEST, LARGEST = -(2**63), 2**63 - 1
CLASSES = {
    "null": "NoneType",
    "boolean": "bool",
    "long": "int",
    "string": "str",
    "bytes": "bytes",
    "enum": "str",
}


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
    return _Source(schema).compiled()


def write_long(value: int) -> bytes:
    """Write an integer, zigzag and in groups of seven bits.

    Raises:
        TypeError: It is no integer; a bool is none either.
        ValueError: It takes more than 64 bits.
    """
    if type(value) is not int:
        raise TypeError(f"an integer is needed, not {value!r}")
    if not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{value} takes more than 64 bits")
    rest = value << 1 ^ value >> 63
    written = bytearray()
    while rest > 0x7F:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    written.append(rest)
    return bytes(written)


SMALL = [write_long(value) for value in range(4096)]  # most lengths and versions


class _Source:
    """The source of a writer: `add` takes the pieces in their order."""

    def __init__(self, schema: Any) -> None:
        self._lines: list[str] = []
        self._named: dict[str, Any] = {}
        self._open: list[Any] = []
        self._numbers = count()
        self._known: dict[str, Any] = {
            "SMALL": SMALL,
            "write_long": write_long,
            "unfit": _unfit,
            "NoneType": type(None),
        }
        self._write(schema, "value", "    ")

    def compiled(self) -> Writer:
        body = "\n".join(self._lines)
        source = (
            f"def write(value):\n    out = []\n    add = out.append\n{body}\n"
            '    return b"".join(out)\n'
        )
        exec(compile(source, "<avro writer>", "exec"), self._known)
        writer: Writer = self._known["write"]
        return writer

    def _write(self, schema: Any, value: str, indent: str) -> None:
        """Write `value`, an expression, at `indent`."""
        schema = self._definition(schema)
        if isinstance(schema, list):
            self._union(schema, value, indent)
            return
        kind = _kind(schema)
        emit = getattr(self, f"_{kind}", None) if isinstance(kind, str) else None
        if emit is None or schema in self._open:
            raise TypeError(f"cannot write Avro's {schema!r}")
        self._open.append(schema)
        name = f"v{next(self._numbers)}"
        self._say(f"{name} = {value}", indent)
        emit(schema, name, indent)
        self._open.pop()

    def _definition(self, schema: Any) -> Any:
        """Return what a name stands for; a type that was spelled out may be named afterwards."""
        if isinstance(schema, dict) and "name" in schema:
            self._named[_fullname(schema)] = schema
        return self._named.get(schema, schema) if isinstance(schema, str) else schema

    def _say(self, line: str, indent: str) -> None:
        self._lines.append(indent + line)

    def _null(self, _: Any, name: str, indent: str) -> None:
        self._say(f"if {name} is not None: unfit({name}, 'nothing')", indent)

    def _boolean(self, _: Any, name: str, indent: str) -> None:
        self._say(f"if {name}.__class__ is not bool: unfit({name}, 'a boolean')", indent)
        self._say(rf"add(b'\1' if {name} else b'\0')", indent)

    def _long(self, _: Any, name: str, indent: str) -> None:
        small = f"{name}.__class__ is int and 0 <= {name} < {len(SMALL)}"
        self._say(f"add(SMALL[{name}] if {small} else write_long({name}))", indent)

    def _string(self, _: Any, name: str, indent: str) -> None:
        self._say(f"{name} = {name}.encode()", indent)
        self._counted(name, indent)

    def _bytes(self, _: Any, name: str, indent: str) -> None:
        self._say(f"if not isinstance({name}, bytes): unfit({name}, 'bytes')", indent)
        self._counted(name, indent)

    def _counted(self, name: str, indent: str) -> None:
        self._say(f"n{name} = len({name})", indent)
        self._long(None, f"n{name}", indent)
        self._say(f"add({name})", indent)

    def _enum(self, schema: Any, name: str, indent: str) -> None:
        symbols = f"symbols{name}"
        self._known[symbols] = {one: SMALL[index] for index, one in enumerate(schema["symbols"])}
        self._say(f"add({symbols}[{name}])", indent)

    def _array(self, schema: Any, name: str, indent: str) -> None:
        self._items(name, f"for i{name} in {name}:", indent)
        self._write(schema["items"], f"i{name}", indent + "    ")
        self._say(r"add(b'\0')", indent)

    def _map(self, schema: Any, name: str, indent: str) -> None:
        self._items(name, f"for k{name}, i{name} in {name}.items():", indent)
        self._write("string", f"k{name}", indent + "    ")
        self._write(schema["values"], f"i{name}", indent + "    ")
        self._say(r"add(b'\0')", indent)

    def _items(self, name: str, loop: str, indent: str) -> None:
        self._say(f"if {name}: add(write_long(len({name})))", indent)
        self._say(loop, indent)

    def _record(self, schema: Any, name: str, indent: str) -> None:
        for field in schema["fields"]:
            self._write(field["type"], f"{name}.{field['name']}", indent)

    def _union(self, members: list[Any], value: str, indent: str) -> None:
        name = f"v{next(self._numbers)}"
        self._say(f"{name} = {value}", indent)
        defined = [self._definition(one) for one in members]
        optional = defined[0] == "null" and len(defined) == 2
        for index, one in enumerate(defined):
            test = "True" if optional and index else _test(one, name)
            self._say(f"{'elif' if index else 'if'} {test}:", indent)
            self._say(f"add({SMALL[index]!r})", indent + "    ")
            self._write(one, name, indent + "    ")
        self._say(f"else: unfit({name}, 'a member of the union')", indent)


def _unfit(value: Any, wanted: str) -> None:
    raise TypeError(f"{wanted} is needed, not {value!r}")


def _test(schema: Any, name: str) -> str:
    """Return the condition under which the value called `name` is of a member of a union."""
    kind = _kind(schema)
    if kind == "record":
        return f"{name}.__class__.__name__ == {schema['name']!r}"
    if kind not in CLASSES:
        raise TypeError(f"cannot tell which values are of Avro's {schema!r}")
    return f"isinstance({name}, {CLASSES[kind]})"


def _kind(schema: Any) -> Any:
    return schema["type"] if isinstance(schema, dict) else schema


def _fullname(schema: Any) -> str:
    namespace = schema.get("namespace")
    return f"{namespace}.{schema['name']}" if namespace else str(schema["name"])
