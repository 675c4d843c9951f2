"""Avro's binary encoding, written by a function that is compiled for its schema.

A test compares it with `fastavro`, which would take most of the decider's time.
https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from verdict.wire.avro.generated_code import AvroSource, Names, kind_of

Writer = Callable[[Any], bytes]

CLASSES = {"boolean": "bool", "long": "int", "string": "str", "bytes": "bytes", "enum": "str"}
SMALLEST, LARGEST = -(2**63), 2**63 - 1

# two groups of seven bits: at the end of an integer, and before others
BITS, GROUPS = 14, 2**14
REST = GROUPS - 1
MORE = [bytes((two & 0x7F | 0x80, two >> 7 | 0x80)) for two in range(GROUPS)]
LAST = [bytes((two & 0x7F | 0x80, two >> 7) if two > 0x7F else (two,)) for two in range(GROUPS)]
SMALL = LAST[::2]  # most lengths and versions, by their values


def write_long(value: object) -> bytes:
    """Write an integer, zigzag and in groups of seven bits.

    Its type is `object`: compiled code would turn a bool into an int, which is a TypeError. More
    than 64 bits are a ValueError.
    """
    if type(value) is not int:
        raise TypeError(f"an integer is needed, not {value!r}")
    if not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{value} takes more than 64 bits")
    rest = value << 1 ^ value >> 63
    if rest < GROUPS:
        return LAST[rest]
    written = MORE[rest & REST]
    rest >>= BITS
    while rest >= GROUPS:
        written += MORE[rest & REST]
        rest >>= BITS
    return written + LAST[rest]


def write_text(value: str) -> bytes:
    """Write a text: its length in bytes, and UTF-8."""
    return write_bytes(value.encode())


def write_bytes(value: bytes) -> bytes:
    """Write bytes: their number, then themselves."""
    return write_long(len(value)) + value


def text_in(slice: bytes) -> bytes:
    """Return the text in the output of `write_text`, without its length."""
    if slice[0] <= 0x7F:
        return slice[1:]
    begin = 2
    while slice[begin - 1] > 0x7F:
        begin += 1
    return slice[begin:]


# values of many records: names of types, topics and versions, the time of a batch
known_text = lru_cache(maxsize=4096)(write_text)
known_long = lru_cache(maxsize=4096)(write_long)


def avro_writer(schema: Any) -> Writer:
    """Return the function that writes values of `schema`, without any coercion.

    It writes a record from the attributes of an object. The name of the object's class chooses a
    member of a union of records. A type that none of our classes leads to is a TypeError.
    """
    source = _new_source()
    written = source.joined(schema, "value", "    ")
    return source.compiled("write", "def write(value):", f"    return {written}")


def field_writer(schema: Any, name: str) -> Writer:
    """Return the function that writes the values of one field of a record, as `avro_writer`."""
    source = _new_source()
    for field in schema["fields"]:
        source.omit()
        written = source.joined(field["type"], "value", "    ")
        if field["name"] == name:
            break
    return source.compiled("write", "def write(value):", f"    return {written}")


def _new_source() -> "_Source":
    return _Source({"SMALL": SMALL, "write_long": write_long, "refuse": _refuse}, "write")


class _Source(AvroSource):
    """The lines of a writer: they check values and make pieces of bytes."""

    def __init__(self, known: Names, deals: str) -> None:
        super().__init__(known, deals)
        self._pieces: list[str] = []

    def pieces(self, schema: Any, value: str, indent: str) -> list[str]:
        """Return the expressions for the bytes of the expression `value`."""
        name, before = self.new_name(), self._pieces
        pieces: list[str] = []
        self._pieces = pieces
        self.say(f"{name} = {value}", indent)
        self.emit(self.definition(schema), name, indent)
        self._pieces = before
        return pieces

    def joined(self, schema: Any, value: str, indent: str, *before: str) -> str:
        """Return one expression for the pieces `before` and the bytes of `value`."""
        pieces = [*before, *self.pieces(schema, value, indent)]
        return f"b''.join(({', '.join(pieces)},))" if len(pieces) > 1 else (pieces or ["b''"])[0]

    def _null(self, _: Any, name: str, indent: str) -> None:
        self.say(f"if {name} is not None: refuse({name}, 'nothing')", indent)

    def _boolean(self, _: Any, name: str, indent: str) -> None:
        self.say(f"if {name}.__class__ is not bool: refuse({name}, 'a boolean')", indent)
        self._pieces.append(rf"(b'\1' if {name} else b'\0')")

    def _long(self, _: Any, name: str, indent: str) -> None:
        small = f"{name}.__class__ is int and 0 <= {name} < {len(SMALL)}"
        self._pieces.append(f"(SMALL[{name}] if {small} else write_long({name}))")

    def _string(self, _: Any, name: str, indent: str) -> None:
        self.say(f"{name} = {name}.encode()", indent)
        self._counted(name)

    def _bytes(self, _: Any, name: str, indent: str) -> None:
        self.say(f"if not isinstance({name}, bytes): refuse({name}, 'bytes')", indent)
        self._counted(name)

    def _counted(self, name: str) -> None:
        size = f"(SMALL[n] if (n := len({name})) < {len(SMALL)} else write_long(n))"
        self._pieces += (size, name)

    def _enum(self, schema: Any, name: str, indent: str) -> None:
        symbols = f"symbols{name}"
        self.known[symbols] = {one: SMALL[index] for index, one in enumerate(schema["symbols"])}
        self._pieces.append(f"{symbols}[{name}]")

    def _array(self, schema: Any, name: str, indent: str) -> None:
        item = ((schema["items"], f"i{name}"),)
        self._items(name, f"for i{name} in {name}:", item, indent)

    def _map(self, schema: Any, name: str, indent: str) -> None:
        item = (("string", f"k{name}"), (schema["values"], f"i{name}"))
        self._items(name, f"for k{name}, i{name} in {name}.items():", item, indent)

    def _items(self, name: str, loop: str, item: Iterable[tuple[Any, str]], indent: str) -> None:
        written, inside = f"w{name}", indent + "    "
        self.say(rf"{written} = b'\0'", indent)
        self.say(f"if {name}:", indent)
        self.say(f"{written} = [write_long(len({name}))]", inside)
        self.say(loop, inside)
        for schema, value in item:
            self.say(
                f"{written}.append({self.joined(schema, value, inside + '    ')})", inside + "    "
            )
        self.say(rf"{written}.append(b'\0')", inside)
        self.say(f"{written} = b''.join({written})", inside)
        self._pieces.append(written)

    def _record(self, schema: Any, name: str, indent: str) -> None:
        for field in schema["fields"]:
            self._pieces += self.pieces(field["type"], f"{name}.{field['name']}", indent)

    def _union(self, members: list[Any], name: str, indent: str) -> None:
        defined = [self.definition(one) for one in members]
        optional = defined[0] == "null" and len(defined) == 2
        written, inside = f"w{name}", indent + "    "
        for index, one in enumerate(defined):
            test = "True" if optional and index else _test(one, name)
            self.say(f"{'elif' if index else 'if'} {test}:", indent)
            self.say(f"{written} = {self.joined(one, name, inside, repr(SMALL[index]))}", inside)
        self.say(f"else: refuse({name}, 'a member of the union')", indent)
        self._pieces.append(written)


def _refuse(value: Any, wanted: str) -> None:
    raise TypeError(f"{wanted} is needed, not {value!r}")


def _test(schema: Any, name: str) -> str:
    """Return the condition that the variable `name` is of this member of a union."""
    kind = kind_of(schema)
    if kind == "record":
        return f"{name}.__class__.__name__ == {schema['name']!r}"
    if kind == "null":
        return f"{name} is None"
    if kind not in CLASSES:
        raise TypeError(f"cannot tell which values are of Avro's {schema!r}")
    return f"isinstance({name}, {CLASSES[kind]})"
