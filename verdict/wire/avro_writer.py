"""Avro's binary encoding, compiled: a schema becomes the source of one function, once.

Every event and every response passes here, so this is where the decider would spend its time. What
is written is what `fastavro` writes, which a test holds it to.
https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

from collections.abc import Callable
from typing import Any

from verdict.wire.avro_source import AvroSource, kind_of

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
    known = {"SMALL": SMALL, "write_long": write_long, "unfit": _unfit, "NoneType": type(None)}
    source = _Source(known, "write")
    source.value(schema, "value", "    ")
    opening = "def write(value):\n    out = []\n    add = out.append"
    return source.compiled("write", opening, '    return b"".join(out)')


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
    written = b""
    while rest >= GROUPS:
        written += MORE[rest % GROUPS]
        rest //= GROUPS
    return written + LAST[rest]


# two groups of seven bits at a time: what ends an integer, and what others follow
GROUPS = 2**14
MORE = [bytes((two & 0x7F | 0x80, two >> 7 | 0x80)) for two in range(GROUPS)]
LAST = [bytes((two & 0x7F | 0x80, two >> 7) if two > 0x7F else (two,)) for two in range(GROUPS)]
SMALL = LAST[::2]  # most lengths and versions, by their values


class _Source(AvroSource):
    """The lines of a writer: `add` takes the pieces in their order."""

    def value(self, schema: Any, value: str, indent: str) -> None:
        """Write `value`, an expression, at `indent`."""
        name = self.new_name()
        self.say(f"{name} = {value}", indent)
        self.emit(self.definition(schema), name, indent)

    def _null(self, _: Any, name: str, indent: str) -> None:
        self.say(f"if {name} is not None: unfit({name}, 'nothing')", indent)

    def _boolean(self, _: Any, name: str, indent: str) -> None:
        self.say(f"if {name}.__class__ is not bool: unfit({name}, 'a boolean')", indent)
        self.say(rf"add(b'\1' if {name} else b'\0')", indent)

    def _long(self, _: Any, name: str, indent: str) -> None:
        small = f"{name}.__class__ is int and 0 <= {name} < {len(SMALL)}"
        self.say(f"add(SMALL[{name}] if {small} else write_long({name}))", indent)

    def _string(self, _: Any, name: str, indent: str) -> None:
        self.say(f"{name} = {name}.encode()", indent)
        self._counted(name, indent)

    def _bytes(self, _: Any, name: str, indent: str) -> None:
        self.say(f"if not isinstance({name}, bytes): unfit({name}, 'bytes')", indent)
        self._counted(name, indent)

    def _counted(self, name: str, indent: str) -> None:
        self.say(f"n{name} = len({name})", indent)
        small = f"n{name} < {len(SMALL)}"
        self.say(f"add(SMALL[n{name}] if {small} else write_long(n{name}))", indent)
        self.say(f"add({name})", indent)

    def _enum(self, schema: Any, name: str, indent: str) -> None:
        symbols = f"symbols{name}"
        self.known[symbols] = {one: SMALL[index] for index, one in enumerate(schema["symbols"])}
        self.say(f"add({symbols}[{name}])", indent)

    def _array(self, schema: Any, name: str, indent: str) -> None:
        self._items(name, f"for i{name} in {name}:", indent)
        self.value(schema["items"], f"i{name}", indent + "    ")
        self.say(r"add(b'\0')", indent)

    def _map(self, schema: Any, name: str, indent: str) -> None:
        self._items(name, f"for k{name}, i{name} in {name}.items():", indent)
        self.value("string", f"k{name}", indent + "    ")
        self.value(schema["values"], f"i{name}", indent + "    ")
        self.say(r"add(b'\0')", indent)

    def _items(self, name: str, loop: str, indent: str) -> None:
        self.say(f"if {name}: add(write_long(len({name})))", indent)
        self.say(loop, indent)

    def _record(self, schema: Any, name: str, indent: str) -> None:
        for field in schema["fields"]:
            self.value(field["type"], f"{name}.{field['name']}", indent)

    def _union(self, members: list[Any], name: str, indent: str) -> None:
        defined = [self.definition(one) for one in members]
        optional = defined[0] == "null" and len(defined) == 2
        for index, one in enumerate(defined):
            test = "True" if optional and index else _test(one, name)
            self.say(f"{'elif' if index else 'if'} {test}:", indent)
            self.say(f"add({SMALL[index]!r})", indent + "    ")
            self.emit(one, name, indent + "    ")
        self.say(f"else: unfit({name}, 'a member of the union')", indent)


def _unfit(value: Any, wanted: str) -> None:
    raise TypeError(f"{wanted} is needed, not {value!r}")


def _test(schema: Any, name: str) -> str:
    """Return the condition under which the value called `name` is of a member of a union."""
    kind = kind_of(schema)
    if kind == "record":
        return f"{name}.__class__.__name__ == {schema['name']!r}"
    if kind not in CLASSES:
        raise TypeError(f"cannot tell which values are of Avro's {schema!r}")
    return f"isinstance({name}, {CLASSES[kind]})"
