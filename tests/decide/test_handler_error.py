"""Bugs in the rules, which must not become anybody else's problem."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aggregates.order import Order, order
from schemas.order import OrderCompleted, OrderDeleted, OrderFilled, OrderModified
from schemas.position import PositionClosed
from tests.decide.desk import MODIFY, PLACE, after, command, judge
from verdict.model.aggregate import Aggregate
from verdict.model.command import Command, Refused
from verdict.model.message import Event
from verdict.model.reason import Reason
from verdict.wire.records import decode, encode
from verdict.wire.response import Response, Status

PLACED = after(PLACE)
FILLED = OrderFilled(quantity=1, price_cents=1)
Decide = Callable[[Order | None, Command], Any]


class Nameless:
    """Its text holds an address, as the default one of every object does."""


def deciding(decide: Decide) -> Aggregate[Order]:
    """Return the rules of an order with another `decide`."""
    return replace(order, decide=decide)


def failing(error: Exception) -> Aggregate[Order]:
    """Return rules with a bug that raises `error`."""

    def decide(state: Order | None, command: Command) -> list[Event]:
        raise error

    return deciding(decide)


def returning(events: Any) -> Aggregate[Order]:
    """Return rules that answer everything with `events`."""
    return deciding(lambda state, command: events)


def evolving(state: Any, event: Event = FILLED) -> Aggregate[Order]:
    """Return rules that answer with an event, after which the state is `state`."""
    return replace(returning([event]), evolve=lambda before, event: state)


ORDER = Order(quantity=1, limit_price_cents=1)
UNFIT: tuple[Any, ...] = (None, "three", 2**63, 1.5)
MODIFIED = OrderModified(quantity=1, limit_price_cents=1)


@pytest.mark.proves("C-08", "C-09", "C-10")
@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (failing(ZeroDivisionError("by zero")), "ZeroDivisionError: by zero"),
        (failing(RecursionError("deep")), "RecursionError"),
        (failing(AssertionError()), "AssertionError"),
        (failing(StopIteration(3)), "StopIteration"),
        (failing(ValueError("a\0b")), "a\\0b"),
        (failing(ValueError("half \ud83d")), "half \\ud83d"),
        (returning([PositionClosed()]), ""),
        (returning([FILLED, OrderCompleted(), None]), ""),
        (returning([OrderDeleted(), MODIFIED]), "AssertionError"),
        *(
            (returning(no_events), "")
            for no_events in (None, 5, FILLED, [None], ["filled"], iter(()), [OrderFilled])
        ),
        *(
            (evolving(ORDER, OrderFilled.model_construct(quantity=unfit, price_cents=1)), "")
            for unfit in UNFIT
        ),
        *((evolving(ORDER.model_copy(update={"filled": unfit})), "") for unfit in UNFIT),
        *((evolving(other), "") for other in (3, "active", {"quantity": 3}, OrderDeleted())),
    ],
)
def test_a_bug_of_the_rules_rejects_its_command_and_nothing_else(
    rules: Aggregate[Order], message: str
) -> None:
    """An exception, no list of events, or an event or state that cannot be encoded."""
    verdict = judge(command(MODIFY, 1), PLACED, decider=rules)

    response = verdict.response
    assert (response.status, response.reason) == (Status.REJECTED, Reason.HANDLER_ERROR)
    assert message in (response.message or "")
    assert response.retriable
    assert not verdict.remembered
    assert (verdict.events, verdict.snapshot, verdict.stored) == ((), PLACED, None)
    assert decode(Response, encode(response)) == response


def test_addresses_are_stripped_so_that_a_replay_says_the_same() -> None:
    text = f"cannot add {Nameless()!r} and {Nameless()!r}"

    verdict = judge(command(MODIFY, 1), PLACED, decider=failing(TypeError(text)))

    one = "<tests.decide.test_handler_error.Nameless object at 0x>"
    said, place = (verdict.response.message or "").split(" (")
    assert said == f"TypeError: cannot add {one} and {one}"
    assert re.fullmatch(r"tests/decide/test_handler_error\.py, line \d+\)", place)


def test_an_error_does_not_show_values_of_fields() -> None:
    def decide(state: Order | None, asked: Command) -> list[Event]:
        return [OrderFilled.model_validate({"quantity": "a secret", "price_cents": 1})]

    told = judge(command(MODIFY, 1), PLACED, decider=deciding(decide)).response.message or ""

    assert told.startswith("ValidationError: quantity: Input should be a valid integer (")


def test_a_long_message_is_cut_at_500_characters() -> None:
    rules = failing(ValueError("é" * 5000))
    told = judge(command(MODIFY, 1), PLACED, decider=rules).response.message or ""
    assert len(told) == 500
    assert re.match(r"ValueError: é{400,} \(tests/decide/test_handler_error\.py, line", told)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(5, 5), ("x", "x"), (2**63, str(2**63)), (True, "True"), (1.5, "1.5"), (None, "None")],
)
def test_whatever_a_refusal_counts_fits_a_response(number: Any, shown: int | str) -> None:
    verdict = judge(
        command(MODIFY, 1), PLACED, decider=failing(Refused("RULE", "is broken", number=number))
    )

    assert verdict.response.details == {"code": "RULE", "number": shown}
    assert decode(Response, encode(verdict.response)) == verdict.response
