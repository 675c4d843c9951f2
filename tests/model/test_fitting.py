"""A field is refused where it is declared if a log would not give it back."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, create_model

from verdict.model.aggregate import Aggregate, Misdeclared
from verdict.model.command import CREATING, Command
from verdict.model.fitting import unfit
from verdict.model.life_cycle import LifeCycle
from verdict.model.message import Cents, Event, Instant, Message, Name, Text
from verdict.model.personal import Personal
from verdict.wire.avro_reader import avro_reader
from verdict.wire.avro_schema import RecordSchema
from verdict.wire.avro_writer import avro_writer


class Colour(StrEnum):
    RED = "red"


class Line(Message):
    sku: Name
    grams: int | None = None


class Other(Message):
    sku: Name


class Tree(Message):
    children: list["Tree"]


KEPT: list[tuple[Any, Any]] = [
    (int, -1),
    (bool, True),
    (bytes, b"\0"),
    (Text, "x"),
    (Cents, 3),
    (Instant, 5),
    (Text | None, None),
    (Annotated[Name | None, Personal()], "ada"),
    (Annotated[int, Field(gt=0)] | None, 4),
    (Literal["BUY", "SELL"], "SELL"),
    (list[str], ["a", "b"]),
    (list[Line], [Line(sku="1"), Line(sku="2", grams=0)]),
    (dict[str, int], {"a": 1}),
    (dict[str, Line], {"a": Line(sku="1")}),
    (Line | None, Line(sku="1")),
]
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
        "Kept.field is Line or Other, and nobody could tell which: make a field of each",
    ),
    (
        list[int | str],
        "Kept.field is int or str, and nobody could tell which: make a field of each",
    ),
]


def with_field(annotation: Any, base: type[Message] = Message) -> type[Message]:
    return create_model("Kept", __base__=base, field=(annotation, ...))


@pytest.mark.parametrize(("annotation", "value"), KEPT, ids=range(len(KEPT)))
def test_what_is_taken_is_read_as_it_was_written(annotation: Any, value: Any) -> None:
    kind = with_field(annotation)
    schema: Any = RecordSchema("test", {}).record(kind)
    message = kind.model_validate({"field": value})

    assert [*unfit(kind)] == []
    fields, _ = avro_reader(schema, names=False)(avro_writer(schema)(message), 0)
    assert kind.model_validate(fields) == message


@pytest.mark.parametrize(("annotation", "problem"), LOST, ids=range(len(LOST)))
def test_what_would_be_lost_is_named(annotation: Any, problem: str) -> None:
    assert [*unfit(with_field(annotation))] == [problem]


def test_a_state_may_hold_one_of_several_messages_that_have_other_fields() -> None:
    """`tests/decision/test_snapshot.py` reads them back."""
    grown = create_model("Grown", __base__=Other, more=(str, ""))
    longer = create_model("Longer", __base__=Other, more=(str, ...))

    assert [*unfit(with_field(Other | longer), of_state=True)] == []
    assert len([*unfit(with_field(Other | grown), of_state=True)]) == 1
    assert len([*unfit(with_field(Other | str), of_state=True)]) == 1
    assert len([*unfit(with_field(Other | longer))]) == 1


def test_an_aggregate_is_not_made_of_it() -> None:
    inner = with_field(float)
    opened = create_model("Opened", __base__=Event, lines=(list[inner], ...))  # type: ignore[valid-type]
    said = (
        r"the event Opened of aggregate 'thing' cannot be kept: Kept\.field is float, .*take int,"
    )

    with pytest.raises(Misdeclared, match=said):
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

    with pytest.raises(Misdeclared, match="command Wrong of aggregate 'kept' has starts_from ="):
        Aggregate("kept", Message, lambda *_: [], lambda *_: None, Open | wrong, Opened)


def test_an_aggregate_that_no_command_can_create_is_refused() -> None:
    class Close(Command):
        pass

    with pytest.raises(Misdeclared, match="no command can create an aggregate 'kept': give one of"):
        Aggregate("kept", Message, lambda *_: [], lambda *_: None, Close, Opened)
