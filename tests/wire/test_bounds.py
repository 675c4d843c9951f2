"""No schema may let a few bytes take any amount of memory, or the process with them."""

from typing import Any

import pytest

from verdict.model.message import Message
from verdict.wire.schemas.derive import RecordSchema
from verdict.wire.schemas.files import UnboundedSchemaError, require_bounded


class Nothing(Message):
    """A record without fields: it takes no bytes."""


class Wrapped(Message):
    nothing: Nothing


class Something(Message):
    nothing: Nothing
    note: str | None


class Twice(Message):
    one: Something
    other: Something


class Tree(Message):
    branches: tuple["Tree", ...]


class Link(Message):
    behind: "Link | None"


class Holder(Message):
    first: Link


def schema_of(annotation: Any) -> Any:
    """Return the schema of a record with one field."""
    field = type("Field", (Message,), {"__annotations__": {"held": annotation}})
    return RecordSchema("a.b", {}).record(field)


@pytest.mark.parametrize("held", [Link, Tree, Holder, dict[str, Tree], tuple[Link, ...]])
def test_a_record_that_holds_itself_is_refused(held: Any) -> None:
    with pytest.raises(UnboundedSchemaError, match=r"record a\.b\.(Link|Tree) holds itself"):
        require_bounded("x", schema_of(held))


@pytest.mark.proves("C-11")
@pytest.mark.parametrize("item", [type(None), Nothing, Wrapped])
def test_an_array_of_what_takes_no_bytes_is_refused(item: Any) -> None:
    with pytest.raises(
        UnboundedSchemaError, match="schema of x: the items of an array take no bytes"
    ):
        require_bounded("x", schema_of(tuple[item, ...]))


@pytest.mark.parametrize(
    "held",
    [
        str,
        Nothing,
        tuple[Something, ...],
        tuple[bool, ...],
        tuple[tuple[str, ...], ...],
        tuple[Nothing | None, ...],
        dict[str, Nothing],
        Twice,
    ],
)
def test_what_takes_bytes_for_everything_it_holds_is_fine(held: Any) -> None:
    require_bounded("x", schema_of(held))
