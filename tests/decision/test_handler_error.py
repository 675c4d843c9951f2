import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aggregates.order import Order, order
from schemas.order import OrderCompleted, OrderDeleted, OrderFilled, OrderModified
from schemas.position import PositionClosed
from tests.decision.desk import MODIFY, PLACE, after, command, judge
from verdict.model.aggregate import Aggregate
from verdict.model.command import Command, Refused
from verdict.model.message import Event
from verdict.model.reason import Reason
from verdict.wire.records import decode, encode
from verdict.wire.response import Response, Status
from verdict.write_side.decide.handle import Limits

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


def evolving(state: Any) -> Aggregate[Order]:
    """Return rules that answer with a fill, after which the state is `state`."""
    rules = returning([FILLED])
    return replace(rules, evolve=lambda before, event: state)


def assert_handler_error(rules: Aggregate[Order], message: str) -> None:
    """Assert that nothing but a rejection comes of a command, and that it may be sent again."""
    verdict = judge(command(MODIFY, 1), PLACED, decider=rules)

    response = verdict.response
    assert (response.status, response.reason) == (Status.REJECTED, Reason.HANDLER_ERROR)
    assert response.message is not None
    assert message in response.message
    assert response.retriable
    assert not verdict.remembered
    assert verdict.events == ()
    assert verdict.snapshot == PLACED
    assert verdict.stored is None
    assert decode(Response, encode(response)) == response


@pytest.mark.proves("C-09")
def test_an_exception_gives_its_type_and_message() -> None:
    assert_handler_error(failing(ZeroDivisionError("by zero")), "ZeroDivisionError: by zero")


@pytest.mark.proves("C-10")
@pytest.mark.parametrize("error", [RecursionError("deep"), AssertionError(), StopIteration(3)])
def test_every_exception_is_contained(error: Exception) -> None:
    assert_handler_error(failing(error), type(error).__name__)


@pytest.mark.parametrize("events", [None, 5, FILLED, [None], ["filled"], iter(()), [OrderFilled]])
def test_what_is_no_list_of_events_is_a_bug(events: Any) -> None:
    assert_handler_error(returning(events), "")


def test_an_event_of_another_aggregate_is_a_bug() -> None:
    assert_handler_error(returning([PositionClosed()]), "")


@pytest.mark.parametrize("quantity", [None, "three", 2**63, 1.5])
def test_an_event_that_cannot_be_encoded_is_a_bug(quantity: Any) -> None:
    bad = OrderFilled.model_construct(quantity=quantity, price_cents=1)
    rules = replace(returning([bad]), evolve=lambda state, event: state)

    assert_handler_error(rules, "")


@pytest.mark.proves("C-08")
def test_one_bad_event_takes_the_good_ones_before_it_along() -> None:
    assert_handler_error(returning([FILLED, OrderCompleted(), None]), "")


@pytest.mark.proves("C-10")
@pytest.mark.parametrize("filled", [None, "three", 2**63, 1.5])
def test_a_state_that_cannot_be_encoded_is_a_bug(filled: Any) -> None:
    state = Order(quantity=1, limit_price_cents=1).model_copy(update={"filled": filled})

    assert_handler_error(evolving(state), "")


@pytest.mark.parametrize("state", [3, "active", {"quantity": 3}, OrderDeleted()])
def test_a_state_of_another_class_is_a_bug(state: Any) -> None:
    assert_handler_error(evolving(state), "")


def test_events_behind_the_one_that_deletes_are_a_bug() -> None:
    modified = OrderModified(quantity=1, limit_price_cents=1)

    assert_handler_error(returning([OrderDeleted(), modified]), "AssertionError")


def test_addresses_are_stripped_so_that_a_replay_says_the_same() -> None:
    text = f"cannot add {Nameless()!r} and {Nameless()!r}"

    verdict = judge(command(MODIFY, 1), PLACED, decider=failing(TypeError(text)))

    one = "<tests.decision.test_handler_error.Nameless object at 0x>"
    said, place = (verdict.response.message or "").split(" (")
    assert said == f"TypeError: cannot add {one} and {one}"
    assert re.fullmatch(r"tests/decision/test_handler_error\.py, line \d+\)", place)


def test_what_a_field_holds_is_not_told_as_not_everybody_may_see_it() -> None:
    def decide(state: Order | None, asked: Command) -> list[Event]:
        return [OrderFilled.model_validate({"quantity": "a secret", "price_cents": 1})]

    told = judge(command(MODIFY, 1), PLACED, decider=deciding(decide)).response.message or ""

    assert told.startswith("ValidationError: quantity: Input should be a valid integer (")


def test_a_long_message_is_cut_at_500_characters() -> None:
    rules = failing(ValueError("é" * 5000))
    told = judge(command(MODIFY, 1), PLACED, decider=rules).response.message or ""
    assert len(told) == 500
    assert re.match(r"ValueError: é{400,} \(tests/decision/test_handler_error\.py, line", told)


@pytest.mark.parametrize(("text", "shown"), [("a\0b", "a\\0b"), ("half \ud83d", "half \\ud83d")])
def test_a_message_that_a_database_could_not_store_is_spelled_out(text: str, shown: str) -> None:
    assert_handler_error(failing(ValueError(text)), shown)


@pytest.mark.proves("C-10")
def test_the_same_command_id_succeeds_once_the_bug_is_mended() -> None:
    asked = command(MODIFY, 1)
    broken = judge(asked, PLACED, decider=failing(ValueError("oops")))

    again = judge(asked, broken.snapshot, earlier=None)

    assert (again.response.status, again.response.duplicate) == (Status.ACCEPTED, False)


def test_a_bug_is_met_only_after_all_checks_that_come_before_the_rules() -> None:
    rules = failing(ValueError("oops"))

    verdict = judge(command(MODIFY, 9), PLACED, decider=rules)

    assert verdict.response.reason is Reason.VERSION_CONFLICT


def test_a_bug_is_met_before_the_size_is_looked_at() -> None:
    rules, limits = failing(ValueError("oops")), Limits(events_bytes=0)

    verdict = judge(command(MODIFY, 1), PLACED, decider=rules, limits=limits)

    assert verdict.response.reason is Reason.HANDLER_ERROR


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
