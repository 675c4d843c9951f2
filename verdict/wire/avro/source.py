"""A schema becomes the source of one Python function, and that function is compiled once.

A library looks into its schema for each field of each record, and into each member of a union; a
function that was made for one schema does not, and takes a third to a half of the time.
"""

from collections.abc import Callable
from itertools import count
from typing import Any


class AvroSource:
    """The lines of one function, for a schema of ours.

    A subclass has a method `_<type>(schema, name, indent)` for each of Avro's types that it deals
    with; `emit` finds it. Types that are named once are known by that name from then on.

    Args:
        known: What the lines refer to, by name.
        deals: Says what is done to a schema, for the message when there is no method.
    """

    def __init__(self, known: dict[str, Any], deals: str) -> None:
        self.known = known
        self._deals = deals
        self._lines: list[str] = []
        self._named: dict[str, Any] = {}
        self._open: list[Any] = []
        self._numbers = count()

    def compiled(self, name: str, opening: str, closing: str) -> Callable[..., Any]:
        """Return the function called `name`; `opening` and `closing` stand around its lines."""
        source = "\n".join([opening, *self._lines, closing])
        exec(compile(source, f"<avro {name}>", "exec"), self.known)
        function: Callable[..., Any] = self.known[name]
        return function

    def omit(self) -> None:
        """Leave out all lines so far; the types that were named in them stay known."""
        self._lines.clear()

    def say(self, line: str, indent: str) -> None:
        """Add a line."""
        self._lines.append(indent + line)

    def new_name(self) -> str:
        """Return a variable that no line uses yet."""
        return f"v{next(self._numbers)}"

    def emit(self, schema: Any, name: str, indent: str) -> None:
        """Add the lines for a value of `schema`, which is in the variable `name` or goes there.

        Raises:
            TypeError: No class of ours leads to such a schema.
        """
        kind = "union" if isinstance(schema, list) else kind_of(schema)
        lines = getattr(self, f"_{kind}", None) if isinstance(kind, str) else None
        if lines is None or schema in self._open:
            raise TypeError(f"cannot {self._deals} Avro's {schema!r}")
        self._open.append(schema)
        lines(schema, name, indent)
        self._open.pop()

    def definition(self, schema: Any) -> Any:
        """Return what a name stands for; a type that was spelled out may be named afterwards."""
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
