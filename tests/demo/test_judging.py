"""The demo's comparisons, given wrong data: each must see it."""

import pytest

from compose.demo.load import rival
from compose.demo.races import race_result, verdicts
from verdict.model.command import LifeCycle
from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.wire.response import Response, Status


def response(reason: Reason | None, version: int) -> Response:
    accepted = reason is None
    return Response(
        command_id="c",
        command_digest=None,
        aggregate_type="order",
        aggregate_id="o",
        command_type="ModifyOrder",
        status=Status.ACCEPTED if accepted else Status.REJECTED,
        duplicate=False,
        from_version=version,
        to_version=version + accepted,
        event_ids=[],
        reason=reason,
        message=None if accepted else "why",
        details={},
        expected_version=1,
        actual_version=None if accepted else version,
        actual_state=None if accepted else LifeCycle.ACTIVE,
        retriable=False,
        correlation_id="c",
        source=Source("order.commands", 0, 0),
        decided_at=0,
        handler_version="1",
        last_hash=b"",
    )


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
