"""The source of a Python function that is compiled once for an Avro schema.

A library consults the schema for each field; such a function takes a third to a half of the time.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

Names = dict[str, Any]
"""What lines of Python refer to, by name."""


class AvroSource:
    """The lines of one function.

    A subclass has a method `_<type>(schema, name, indent)` for each type of Avro that it handles.
    `known` has the values of names in the lines; `deals` is a verb for a message.
    """

    def __init__(self, known: Names, deals: str) -> None:
        self.known = known
        self._deals = deals
        self._lines: list[str] = []
        self._named: Names = {}
        self._open: list[Any] = []
        self._numbers = count()

    def compiled(self, name: str, opening: str, closing: str) -> Callable[..., Any]:
        """Return the function `name` of the lines between `opening` and `closing`."""
        source = "\n".join([opening, *self._lines, closing])
        exec(compile(source, f"<avro {name}>", "exec"), self.known)
        function: Callable[..., Any] = self.known[name]
        return function

    def omit(self) -> None:
        """Drop all lines so far, but remember the types that they name."""
        self._lines.clear()

    def say(self, line: str, indent: str) -> None:
        self._lines.append(indent + line)

    def new_name(self) -> str:
        """Return a new variable."""
        return f"v{next(self._numbers)}"

    def emit(self, schema: Any, name: str, indent: str) -> None:
        """Add the lines that read a value of `schema` into the variable `name`, or write it."""
        kind = "union" if isinstance(schema, list) else kind_of(schema)
        lines = getattr(self, f"_{kind}", None) if isinstance(kind, str) else None
        if lines is None:
            raise TypeError(f"cannot {self._deals} Avro's {schema!r}")
        if schema in self._open:
            raise TypeError(f"record {fullname(schema)} holds itself, so it nests without an end")
        self._open.append(schema)
        lines(schema, name, indent)
        self._open.pop()

    def definition(self, schema: Any) -> Any:
        """Return the definition of a named type; remember one that is spelled out."""
        if isinstance(schema, dict) and "name" in schema:
            self._named[fullname(schema)] = schema
        return self._named.get(schema, schema) if isinstance(schema, str) else schema


def kind_of(schema: Any) -> Any:
    """Return the type of a schema that is no union."""
    return schema["type"] if isinstance(schema, dict) else schema


def fullname(schema: Any) -> str:
    """Return the name of a record or an enum, with its namespace."""
    namespace = schema.get("namespace")
    return f"{namespace}.{schema['name']}" if namespace else str(schema["name"])
