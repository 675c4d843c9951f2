"""An application that has a field of each kind that may be declared, in each place for one."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, create_model

from verdict.model.aggregate import Aggregate
from verdict.model.application import Application
from verdict.model.command import Command, LifeCycle
from verdict.model.message import LARGEST, Event, Hash, Instant, Message, Name, OpenEnum, Text
from verdict.model.personal import Personal

SCHEMAS = "schemas_of_every_field"
ANY = frozenset(LifeCycle)


class Colour(StrEnum):
    RED = "red"


class Inner(Message):
    type: Name
    at: Instant | None = None
    photo: bytes = b""


class Kind(NamedTuple):
    """A kind of field: its type, a value, the value in JSON, and as a text of `--field`."""

    annotation: Any
    value: Any
    json: Any
    text: str | None = None  # its JSON

    @property
    def argument(self) -> str:
        """The value as `verdict send --field` takes it."""
        return self.text or str(self.json)


KINDS = {
    "int": Kind(int, -LARGEST - 1, -LARGEST - 1),
    "bool": Kind(bool, False, False, "false"),
    "str": Kind(str, 'é"\u2028[', 'é"\u2028['),
    "text": Kind(Text, "x" * 300, "x" * 300),
    "name": Kind(Annotated[Name, Personal()], "ada", "ada"),
    "bytes": Kind(bytes, b"\xfb\xff\0", "+/8A"),
    "hash": Kind(Hash, b"\xfb\xff\0", "fbff00"),
    "literal": Kind(Literal["BUY", "SELL"], "SELL", "SELL"),
    "instant": Kind(Instant, 1_795_262_400_001, "2026-11-21T12:00:00.001Z"),
    "growing": Kind(Annotated[Colour, OpenEnum()], Colour.RED, "red"),
    "message": Kind(
        Inner,
        Inner(type="x", at=0, photo=b"\xff"),
        {"type": "x", "at": "1970-01-01T00:00:00.000Z", "photo": "/w=="},
        '{"type": "x", "at": "1970-01-01T00:00:00.000Z", "photo": "/w=="}',
    ),
}


def fields(name: str) -> Mapping[str, Any]:
    """Return the fields of a message that has this kind in each place."""
    kind: Any = KINDS[name].annotation
    part: Any = create_model(f"Part_{name}", __base__=Message, type=(kind, ...))
    return {
        "plain": (kind, ...),
        "optional": (kind | None, None),
        "listed": (list[kind], ...),
        "mapped": (dict[str, kind], Field(default_factory=dict)),
        "payload": (part | None, None),
        "parts": (list[part], ...),
        "named_parts": (dict[str, part], Field(default_factory=dict)),
    }


def values(name: str) -> dict[str, Any]:
    """Return the values of these fields, as Python has them."""
    return _filled(KINDS[name].value)


def as_json(name: str) -> dict[str, Any]:
    """Return the values of these fields, as people read and write them in JSON."""
    return _filled(KINDS[name].json)


def _filled(value: Any) -> dict[str, Any]:
    part = {"type": value}
    return {
        "plain": value,
        "optional": value,
        "listed": [value, value],
        "mapped": {"a": value},
        "payload": part,
        "parts": [part],
        "named_parts": {"a": part},
    }


def command_name(name: str) -> str:
    return f"Set_{name}"


def _aggregate(name: str) -> Aggregate[Any]:
    of = fields(name)
    set_it: Any = create_model(command_name(name), __base__=Command, **of)
    set_it.starts_from = ANY
    was_set: Any = create_model(f"Was_set_{name}", __base__=Event, **of)
    touched: Any = create_model(f"Touched_{name}", __base__=Event, **of)
    # names that mean something else in the view, in SQL, or to the classes of messages
    state: Any = create_model(
        f"State_{name}", __base__=Message, **of, type=(str, ...), version=(int, 0),
        state_version=(int, 1), masked_plain=(str, "seen"), order=(int, 2), Select=(int, 3),
    )  # fmt: skip

    def decide(before: Message | None, command: Any) -> list[Any]:
        return [was_set(**dict(command))]

    def evolve(before: Message | None, event: Any) -> Any:
        if type(event) is touched and before is not None:
            return before.model_copy()
        return state(**dict(event), **{"type": name})

    return Aggregate(
        name=f"of_{name}", state=state, commands=set_it, events=was_set | touched,
        decide=decide, evolve=evolve,
    )  # fmt: skip


APP = Application(
    name="every-field",
    namespace="every.field",
    schemas=SCHEMAS,
    aggregates=tuple(map(_aggregate, KINDS)),
)
