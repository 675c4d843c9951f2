"""Avro's binary encoding, read by a function that is compiled for its schema.

A test compares it with `fastavro`, which reads the bytes of older schemas.
https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

from collections.abc import Callable, Mapping
from typing import Any

from verdict.wire.avro.generated_code import AvroSource, fullname, kind_of

Reader = Callable[[bytes, int], tuple[Any, int]]

BOOLEANS = (False, True)
# an integer by its first byte; None where more bytes follow
LONGS = [*(byte >> 1 ^ -(byte & 1) for byte in range(128)), *[None] * 128]
CLOSING = "    if i > len(b): cut(i - len(b))\n    return value, i"
MOST_BITS = 63  # that the bytes before the last one may hold


def avro_reader(schema: Any) -> Reader:
    """Return the function that reads values of `schema`; a record becomes a dict.

    The bytes bound its memory and time.

    Raises:
        TypeError: None of our classes leads to a type in the schema, or a few bytes could stand for
            any number of values.
    """
    source = _Source()
    source.value(schema, "value", "    ")
    return source.reader()


def last_field_reader(schema: Any) -> Reader:
    """Return the function that reads the last field of a record as `avro_reader` does."""
    source = _Source()
    for field in schema["fields"]:
        source.omit()
        source.value(field["type"], "value", "    ")
    return source.reader()


def row_reader(schema: Any, made: Mapping[str, Callable[..., Any]]) -> Reader:
    """Return the function that reads a record as the tuple of its fields."""
    source = _Source()
    values = [source.field(field, made.get(field["name"])) for field in schema["fields"]]
    source.say(f"value = ({', '.join(values)},)", "    ")
    return source.reader()


class _Source(AvroSource):
    """The lines read bytes `b` from `i` on into a variable, and move `i` behind the value."""

    def __init__(self) -> None:
        functions = (long_of, even, no_member, cut)
        known = {"BOOLEANS": BOOLEANS, "LONGS": LONGS}
        super().__init__(known | {one.__name__: one for one in functions}, "read")

    def reader(self) -> Reader:
        return self.compiled("read", "def read(b, i):", CLOSING)

    def value(self, schema: Any, name: str, indent: str) -> None:
        self.emit(self.definition(schema), name, indent)

    def field(self, field: Any, make: Callable[..., Any] | None) -> str:
        """Read a field of the outermost record, and return its variable."""
        name = self.new_name()
        if make is None:
            self.value(field["type"], name, "    ")
            return name
        parts = [self.field(part, None) for part in self.definition(field["type"])["fields"]]
        self.known[f"make_{name}"] = make
        self.say(f"{name} = make_{name}({', '.join(parts)})", "    ")
        return name

    def _null(self, _: Any, name: str, indent: str) -> None:
        self.say(f"{name} = None", indent)

    def _boolean(self, _: Any, name: str, indent: str) -> None:
        self.say(f"{name} = BOOLEANS[b[i]]; i += 1", indent)

    def _long(self, _: Any, name: str, indent: str) -> None:
        self.say(f"{name} = LONGS[b[i]]; i += 1", indent)
        self.say(f"if {name} is None: {name}, i = long_of(b, i)", indent)

    def _string(self, _: Any, name: str, indent: str) -> None:
        self._length(name, indent)
        self.say(f"{name} = b[i:(i := i + {name})].decode()", indent)

    def _bytes(self, _: Any, name: str, indent: str) -> None:
        self._length(name, indent)
        self.say(f"{name} = b[i:(i := i + {name})]", indent)

    def _enum(self, schema: Any, name: str, indent: str) -> None:
        symbols = f"symbols{self.new_name()}"
        self.known[symbols] = dict(enumerate(schema["symbols"]))
        self._long(None, name, indent)
        self.say(f"{name} = {symbols}[{name}]", indent)

    def _array(self, schema: Any, name: str, indent: str) -> None:
        if not self._takes_bytes(schema["items"]):
            raise TypeError(
                "the items of an array take no bytes, so a short value can hold any number of "
                "them: give them a field, or count them"
            )
        item = self.new_name()
        self.say(f"{name} = []", indent)
        inside = self._blocks(indent)
        self.value(schema["items"], item, inside)
        self.say(f"{name}.append({item})", inside)

    def _takes_bytes(self, schema: Any) -> bool:
        """Return whether each value of `schema` takes a byte or more."""
        found = self.definition(schema)
        if kind_of(found) == "record":
            return any(self._takes_bytes(field["type"]) for field in found["fields"])
        return bool(found != "null")

    def _map(self, schema: Any, name: str, indent: str) -> None:
        key, item = self.new_name(), self.new_name()
        self.say(f"{name} = {{}}", indent)
        inside = self._blocks(indent)
        self._string(None, key, inside)
        self.value(schema["values"], item, inside)
        self.say(f"{name}[{key}] = {item}", inside)

    def _record(self, schema: Any, name: str, indent: str) -> None:
        fields = {field["name"]: self.new_name() for field in schema["fields"]}
        for field in schema["fields"]:
            self.value(field["type"], fields[field["name"]], indent)
        items = ", ".join(f"{field!r}: {value}" for field, value in fields.items())
        self.say(f"{name} = {{{items}}}", indent)

    def _union(self, members: list[Any], name: str, indent: str) -> None:
        defined = [self.definition(one) for one in members]
        records = sum(kind_of(one) == "record" for one in defined)
        named = records > 1 or len(defined) == 1
        self._long(None, name, indent)
        for index, one in enumerate(defined):
            self.say(f"{'elif' if index else 'if'} {name} == {index}:", indent)
            self.emit(one, name, indent + "    ")
            if kind_of(one) == "record" and named:
                self.say(f"{name} = ({fullname(one)!r}, {name})", indent + "    ")
        self.say(f"else: no_member({name})", indent)

    def _length(self, name: str, indent: str) -> None:
        self.say(f"{name} = b[i]; i += 1", indent)
        self.say(f"if {name} & 129: {name}, i = even(b, i, {name})", indent)
        self.say(f"{name} >>= 1", indent)

    def _blocks(self, indent: str) -> str:
        """Begin the loop over all items; return the indent of its body."""
        count, inside = self.new_name(), indent + "    "
        self.say("while True:", indent)
        self._long(None, count, inside)
        self.say(f"if not {count}: break", inside)
        self.say(f"if {count} < 0:", inside)  # then the size of the block in bytes follows
        self._long(None, self.new_name(), inside + "    ")
        self.say(f"for _ in range(abs({count})):", inside)
        return inside + "    "


def long_of(b: bytes, i: int) -> tuple[int, int]:
    """Return an integer whose first byte is before `i`, and where it ends."""
    second = b[i]
    if second < 0x80:  # as it mostly is
        value, end = b[i - 1] - 0x80 + (second << 7), i + 1
    else:
        value, end = rest_of(b, i)
    return value >> 1 ^ -(value & 1), end


def rest_of(b: bytes, i: int) -> tuple[int, int]:
    """Return the same as written: doubled, and odd if it is negative."""
    value, shift = b[i - 1] - 0x80, 7
    while (byte := b[i]) > 0x7F and shift < MOST_BITS:
        value += (byte - 0x80) << shift
        shift += 7
        i += 1
    value += byte << shift
    if value >= 2**64:
        raise ValueError("an integer of more than 64 bits")
    return value, i + 1


def even(b: bytes, i: int, first: int) -> tuple[int, int]:
    """Return twice the length of a text, whose first byte is `first`, and where it begins."""
    twice, begin = rest_of(b, i) if first > 127 else (first, i)
    if twice & 1:
        raise ValueError(f"a text of {twice >> 1 ^ -1} bytes")
    return twice, begin


def no_member(index: int) -> None:
    """Raise for a member that the union does not have."""
    raise ValueError(f"the union has no member {index}")


def cut(missing: int) -> None:
    """Raise for bytes that end within a text."""
    raise EOFError(f"{missing} bytes are missing")
