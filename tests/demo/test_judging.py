"""The demo's comparisons, given wrong data: each must see it."""

import pytest

from compose.demo.load import rival
from compose.demo.races import race_result, verdicts
from tests.read_side.responses import ACCEPTED, REJECTED
from verdict.model.command import LifeCycle
from verdict.model.reason import Reason
from verdict.wire.response import Response


def response(reason: Reason | None, version: int) -> Response:
    versions = {"from_version": version, "to_version": version + (reason is None)}
    if reason is None:
        return ACCEPTED.model_copy(update=versions)
    met = {"reason": reason, "actual_version": version, "actual_state": LifeCycle.ACTIVE}
    return REJECTED.model_copy(update=versions | met)


WON, LOST = response(None, 1), response(Reason.VERSION_CONFLICT, 2)


@pytest.mark.parametrize("answers", [(WON, LOST), (LOST, WON)])
def test_a_race_has_exactly_one_winner(answers: tuple[Response, ...]) -> None:
    assert verdicts(answers) == race_result(1)


@pytest.mark.parametrize(
    "answers",
    [
        (WON, WON),
        (LOST, LOST),
        (WON, response(None, 2)),
        (WON, response(Reason.DELETED, 2)),
        (WON, response(Reason.VERSION_CONFLICT, 3)),
        (response(None, 2), LOST),
        (WON,),
    ],
)
def test_everything_else_is_no_fair_race(answers: tuple[Response, ...]) -> None:
    assert verdicts(answers) != race_result(1)


def test_the_rival_is_the_other_producers_command() -> None:
    assert (rival("A-race-3-1"), rival("B-race-3-1")) == ("B-race-3-1", "A-race-3-1")
