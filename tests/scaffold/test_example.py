"""A first test of a projection needs an event of a class that is not known before."""

from compose.application import app
from schemas.position import PositionOpened
from verdict import Cents, Event, Name, Positive
from verdict.cli.scaffold.projection import example


class Plain(Event):
    name: Name
    amount: Cents
    sure: bool
    later: str = "default"


class Strange(Event):
    rest: list[Positive]


def test_texts_and_numbers_get_values() -> None:
    assert example(Plain) == 'name="1", amount=1, sure=True'
    assert example(Strange) is None


def test_what_is_written_is_what_python_reads() -> None:
    assert eval(f"PositionOpened({example(PositionOpened)})").amount == 1


def test_most_aggregates_have_an_event_that_is_easy_to_make() -> None:
    lacking = [
        one.name
        for one in app.aggregates
        if not any(example(kind) is not None for kind in one.event_types.values())
    ]

    assert lacking == ["invoice"]  # whose lines are messages of their own
