"""A field is refused where it is declared if a log would not give it back."""

import re
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic import Field, create_model

from verdict.model.aggregate import Aggregate, InvalidApplicationError
from verdict.model.command import CREATING, Command, LifeCycle
from verdict.model.field_types import unsupported
from verdict.model.message import Event, Message, Name, OpenEnum

Held = TypeVar("Held")


class Colour(StrEnum):
    RED = "red"


class Line(Message):
    sku: Name
    grams: int | None = None


class Other(Message):
    sku: Name


class Tree(Message):
    children: list["Tree"]


LOST: list[tuple[Any, str]] = [
    (Tree, "Tree.children is Tree, which holds itself"),
    (float, "Kept.field is float, which would not be read as it was written"),
    (tuple[str, ...], "Kept.field is tuple[str, ...], which would not be read as it was written"),
    (set[str], "Kept.field is set[str], which would not be read as it was written"),
    (dict[int, str], "Kept.field is dict[int, str], which would not be read as it was written"),
    (Colour, "Kept.field is Colour, which would not be read as it was written"),
    (Literal[1, 2], "Kept.field is typing.Literal[1, 2], of which not all are words"),
    (Literal["a b"], "Kept.field is typing.Literal['a b'], of which not all are words"),
    (
        Line | Other,
        "Kept.field is Line or Other, and a record does not show which: make a field of each",
    ),
    (
        list[int | str],
        "Kept.field is int or str, and a record does not show which: make a field of each",
    ),
]


def with_field(annotation: Any, base: type[Message] = Message) -> type[Message]:
    return create_model("Kept", __base__=base, field=(annotation, ...))


@pytest.mark.parametrize(("annotation", "problem"), LOST, ids=range(len(LOST)))
def test_what_would_be_lost_is_named(annotation: Any, problem: str) -> None:
    assert [*unsupported(with_field(annotation))] == [problem]


def named(name: str, base: type[Message]) -> type[Message]:
    fields: Any = {name: (int, 0)}
    return create_model("Kept", __base__=base, **fields)


class Box(Message, Generic[Held]):
    held: Held


class Hidden(Message):
    _hidden: int = 0


class Aliased(Message):
    kind: str = Field(alias="type")


MISNAMED: list[tuple[str, type[Message], str]] = [
    (
        "command",
        create_model("Kept", __base__=Command, type=(str, ...)),
        "Kept.type would replace the name of the command in JSON: rename it, for example to kind",
    ),
    (
        "event",
        create_model("Kept", __base__=Event, type=(str, "")),
        "Kept.type would replace the name of the event in JSON: rename it, for example to kind",
    ),
    (
        "event",
        named("größe", Event),
        "Kept.größe is no name for a field: take a letter from A to Z, then letters, digits and _",
    ),
    ("event", named("from", Event), "Kept.from is no name for a field: "),
    (
        "state",
        create_model("Kept", __base__=Message, boxes=(list[Box[int]], ...)),
        "Box[int] is no name for a record: take a letter from A to Z, then letters, digits and _",
    ),
    (
        "state",
        named("x" * 57, Message),
        f"Kept.{'x' * 57} has 57 characters, and a column at most 56: shorten its name",
    ),
    ("state", Hidden, "Hidden._hidden is private and would be lost: begin its name with a letter"),
    (
        "state",
        create_model("Kept", __base__=Message, held=(dict[str, Aliased], ...)),
        "Aliased.kind has an alias, which records do not have: rename the field",
    ),
    (
        "state",
        create_model("Kept", __base__=Message, Client=(str, ""), client=(str, "")),
        "Kept.Client differs from another field by case only: rename one",
    ),
]


@pytest.mark.parametrize(("what", "kind", "problem"), MISNAMED)
def test_a_name_that_records_or_tables_cannot_have_is_refused(
    what: str, kind: type[Message], problem: str
) -> None:
    parts: dict[str, Any] = {"state": Line, "command": Command, "event": Event}
    parts[what] = kind
    said = f"the {what} {kind.__name__} of aggregate 'thing' cannot be kept: {problem}"

    with pytest.raises(InvalidApplicationError, match=re.escape(said)):
        Aggregate(
            name="thing", state=parts["state"], commands=parts["command"], events=parts["event"],
            decide=lambda state, command: [], evolve=lambda state, event: state,
        )  # fmt: skip


def test_only_an_enum_of_texts_grows() -> None:
    with pytest.raises(TypeError, match="OpenEnum marks an enum of texts, and <class 'float'> is"):
        with_field(Annotated[float, OpenEnum()])


def test_an_aggregate_is_not_made_of_it() -> None:
    inner = with_field(float)
    opened = create_model("Opened", __base__=Event, lines=(list[inner], ...))  # type: ignore[valid-type]
    said = (
        r"the event Opened of aggregate 'thing' cannot be kept: Kept\.field is float, .*take int,"
    )

    with pytest.raises(InvalidApplicationError, match=said):
        Aggregate(
            name="thing", state=Line, commands=Command, events=opened,
            decide=lambda state, command: [], evolve=lambda state, event: state,
        )  # fmt: skip


class Open(Command):
    starts_from = CREATING


class Opened(Event):
    pass


@pytest.mark.parametrize(
    "starts_from",
    ["NONE", {"NONE"}, frozenset(), LifeCycle.NONE, None, [LifeCycle.NONE]],
    ids=repr,
)
def test_starts_from_is_a_set_of_life_cycle_states(starts_from: Any) -> None:
    wrong = type("Wrong", (Command,), {"starts_from": starts_from})

    with pytest.raises(
        InvalidApplicationError, match="command Wrong of aggregate 'kept' has starts_from ="
    ):
        Aggregate("kept", Message, lambda *_: [], lambda *_: None, Open | wrong, Opened)


def test_an_aggregate_that_no_command_can_create_is_refused() -> None:
    class Close(Command):
        pass

    with pytest.raises(
        InvalidApplicationError, match="no command can create an aggregate 'kept': give one of"
    ):
        Aggregate("kept", Message, lambda *_: [], lambda *_: None, Close, Opened)
