"""A first test of a projection needs an event of a class that is not known before."""

from typing import Any

import pytest

from compose.application import app
from schemas.position import PositionOpened
from verdict import Cents, Event, Instant, LifeCycle, Name, Positive
from verdict.cli.scaffold.projection import example


class Plain(Event):
    name: Name
    amount: Cents
    at: Instant
    sure: bool
    rest: list[Positive]
    nothing: None
    later: str = "default"


class Strange(Event):
    states: LifeCycle


class Narrow(Event):
    number: int

    def model_post_init(self, context: Any, /) -> None:
        if self.number != 7:
            raise ValueError("seven is wanted")


def test_plain_fields_get_plain_values() -> None:
    assert example(Plain) == {
        "name": '"text"', "amount": "1", "at": "1", "sure": "True", "rest": "[]", "nothing": "None",
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Strange, Narrow])
def test_what_plain_values_do_not_fit_has_no_example(kind: type[Event]) -> None:
    assert example(kind) is None


def test_what_is_written_is_what_python_reads() -> None:
    fields = example(PositionOpened)
    assert fields is not None
    assert PositionOpened(**{name: eval(value) for name, value in fields.items()})


def test_most_aggregates_have_an_event_that_is_easy_to_make() -> None:
    lacking = [
        one.name
        for one in app.aggregates
        if not any(example(kind) is not None for kind in one.event_types.values())
    ]

    assert lacking == ["invoice"]  # whose lines are messages of their own
