"""What an author may declare, what follows from it, and what is refused in one sentence."""

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import pytest

from projections.client_overview import client_overview
from projections.client_recent_order import client_recent_order
from projections.us_holder import Position, evolve, us_holder
from projections.us_holder_from_state import us_holder_from_state
from schemas.share_holding import share_holders
from verdict import Instant
from verdict.errors import InvalidApplicationError
from verdict.model.projection import settings_of, settings_text
from verdict.model.rows import row_fields
from verdict.projections import (
    Doc,
    Groups,
    Latest,
    NoRowError,
    Rows,
    any_of,
    count,
    key,
    maximum,
    projection,
    there,
    total,
)


class Row(NamedTuple):
    name: Annotated[str, Doc("Its name.")]
    number: int
    flag: bool
    at: Instant
    kind: Literal["A", "B"]
    size: Literal[1, 2] | None
    maybe: Annotated[Instant | None, Doc("Perhaps.")]


class Odd(NamedTuple):
    names: list[str]


class Taken(NamedTuple):
    version: int


class Clashing(NamedTuple):
    position_id: str
    at: Instant


def nothing(row: Any, recorded: Any) -> None:
    """Delete every row."""


def groups(**columns: Any) -> Groups[Row]:
    return Groups(Row, nothing, by=lambda row: row.name, columns={"name": key("K."), **columns})


def test_the_columns_follow_from_the_types_of_the_fields() -> None:
    found = [(one.name, one.type, one.optional, one.about) for one in row_fields(Row).values()]

    assert found == [
        ("name", "text", False, "Its name."),
        ("number", "integer", False, ""),
        ("flag", "boolean", False, ""),
        ("at", "time", False, ""),
        ("kind", "text", False, ""),
        ("size", "integer", True, ""),
        ("maybe", "time", True, "Perhaps."),
    ]


def test_the_name_the_comment_and_the_key_follow_from_the_function() -> None:
    assert (us_holder.name, us_holder.key, us_holder.settings) == (
        "us_holder",
        ("client",),
        ("us_exchanges",),
    )
    assert us_holder.about == "Clients who hold at least one position on a US exchange now."
    assert client_recent_order.key == ("client", "rank")
    assert client_overview.id_column == "aggregate_id"
    assert us_holder_from_state.id_column == "position_id"


def test_settings_are_stored_as_the_same_text_whatever_their_spelling() -> None:
    def declared(
        exchanges: Collection[str] = ("b", "a"), steps: Sequence[int] = (2, 1), title: str = "ü"
    ) -> Rows[Row]:
        return Rows(Row, nothing)

    text = '{"exchanges": ["a", "b"], "steps": [2, 1], "title": "ü"}'
    assert settings_text(declared, {}) == text
    assert settings_text(declared, {"exchanges": {"b", "a"}, "other": 1}) == text
    assert settings_of(text, ("exchanges", "title")) == {"exchanges": ["a", "b"], "title": "ü"}
    assert settings_text(lambda: None, {"other": 1}) == ""
    assert settings_of("", ("exchanges",)) == {}


def test_a_row_that_is_not_there_is_an_error() -> None:
    assert there(("row",)) == ("row",)
    with pytest.raises(NoRowError, match="there is no row for this event to change"):
        there(None)


def no_default(exchanges: Collection[str]) -> Rows[Row]:
    return Rows(Row, nothing)


def odd_default(at: float = 0.5) -> Rows[Row]:
    return Rows(Row, nothing)


def latest() -> Latest[Row]:
    return Latest(3, Row, nothing, by="name", order_by="at")


def clashing() -> Latest[Clashing]:
    return Latest(3, Clashing, nothing, by="position_id", order_by="at")


def by_type() -> Rows[Row]:
    return Rows(Row, {"order": nothing})


def with_feed() -> Groups[Position]:
    return us_holder()


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: projection(of="order")(no_default), "'exchanges' of no_default .* has no default: gi"),
    (lambda: projection(of="order")(odd_default), "setting 'at' of odd_default is 0.5: a setting"),
    (lambda: projection(of=("order", "position"))(latest), "'latest' .* several aggregate types"),
    (lambda: projection(of=share_holders)(with_feed), "'with_feed' follows the topic 'share-hold"),
    (
        lambda: Rows(Row, nothing, index=("nothere",)),
        "no field 'nothere': its fields are name, ",
    ),
    (lambda: Rows(Odd, nothing), "field 'names' of Odd has the type list.str.: a column holds str"),
    (lambda: Rows(Taken, nothing), "Taken has a field 'version', and the engine has a column of"),
    (lambda: projection(of="position")(clashing), "'clashing' has a column 'position_id' of its o"),
    (lambda: projection(of="position")(by_type), "follows position and has an `evolve` for order:"),
    (lambda: Rows(tuple, nothing), "is no class of typing.NamedTuple: make it one"),
    (lambda: Latest(0, Row, nothing, by="name", order_by="at"), "take a number above 0"),
    (lambda: Latest(3, Row, nothing, by="number", order_by="at"), "'number' of Row is a group: ma"),
    (lambda: Latest(3, Row, nothing, by="name", order_by="maybe"), "it cannot be None: drop"),
    (lambda: groups(another=key("K.")), "groups of Row need one column that is the `key`"),
    (lambda: groups(member_count=count("C.")), "'member_count' is a column of the engine"),
    (lambda: groups(total=total("kind", "T.")), "field 'kind' of Row is of the type text: a "),
    (lambda: groups(any=any_of("size", "A.")), "field 'size' of Row is summed up, so it cannot be"),
    (lambda: groups(most=maximum("flag", "M.")), "field 'flag' of Row is of the type boolean"),
    (lambda: groups(many=count("C.", nothere=1)), "Row has no field 'nothere'"),
    (
        lambda: Groups(
            Position,
            evolve,
            by=lambda row: row.client,
            columns={"client": key("K.")},
            feed="Who.",
            leaves_behind=lambda row, recorded: row,
        ),
        "have a feed and leave members behind",
    ),
]


@pytest.mark.parametrize(("declare", "problem"), REFUSED)
def test_what_cannot_be_is_refused_where_it_is_declared(
    declare: Callable[[], object], problem: str
) -> None:
    with pytest.raises(InvalidApplicationError, match=problem):
        declare()
