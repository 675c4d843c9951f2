"""The demo's comparisons, given wrong data: each must see it."""

from collections import Counter
from typing import Any

import pytest

from compose.demo.load import (
    by_verdict,
    identities,
    outcome_rows,
    outcomes_of,
)
from compose.demo.plan import Planned
from compose.demo.races import race_result, verdicts
from compose.demo.refusal import rival
from compose.demo.settling import behind
from verdict.model.life_cycle import LifeCycle
from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.wire.response import Response, Status


def counts(*found: int) -> dict[str, int]:
    names = ("commands", "responses", "duplicates", "accepted", "rejections", "dead letters")
    return dict(zip(names, found, strict=True))


RIGHT = counts(10, 9, 2, 4, 3, 1)
PLAN = Planned(
    commands=9,
    verdicts=Counter({Status.ACCEPTED: 5, Reason.DELETED: 3}),
    repeated=1,
    races=0,
    events=5,
)


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
def test_a_race_has_one_winner_whoever_it_is(answers: tuple[Response, ...]) -> None:
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


def test_the_counts_add_up() -> None:
    assert all(expected == found for _, expected, found in identities(RIGHT))


@pytest.mark.parametrize(
    ("wrong", "statement"),
    [
        (counts(11, 9, 2, 4, 3, 1), "11 commands = 9 responses + 1 dead letter"),
        (counts(10, 9, 2, 4, 3, 2), "10 commands = 9 responses + 2 dead letters"),
        (counts(10, 9, 1, 4, 3, 1), "8 first responses = 4 accepted + 3 rejected"),
        (counts(10, 9, 2, 5, 3, 1), "7 first responses = 5 accepted + 3 rejected"),
        (counts(10, 9, 2, 4, 4, 1), "7 first responses = 4 accepted + 4 rejected"),
    ],
)
def test_one_record_too_many_or_too_few_is_seen(wrong: dict[str, int], statement: str) -> None:
    failed = [what for what, expected, found in identities(wrong) if expected != found]

    assert failed == [statement]


def test_outcomes_are_counted_by_verdict_and_type() -> None:
    found = outcomes_of(OUTCOMES)

    assert by_verdict(found) == PLAN.verdicts
    assert found.repeated == {"order": 1}
    assert [*outcome_rows(found, PLAN)] == [
        ("ACCEPTED", "3", "2", "5", "5"),
        ("REJECTED DELETED", "3", "0", "3", "3"),
        ("answered again", "1", "0", "1", "1"),
        ("commands", "", "", "9", "9"),
    ]


def test_a_verdict_that_was_planned_and_never_came_is_shown() -> None:
    found = outcomes_of(OUTCOMES[:1])

    assert by_verdict(found) != PLAN.verdicts
    assert ("REJECTED DELETED", "0", "0", "0", "3") in [*outcome_rows(found, PLAN)]


OUTCOMES: list[tuple[Any, ...]] = [
    ("ACCEPTED", 0, "order", 3),
    ("ACCEPTED", 0, "position", 2),
    ("DELETED", 0, "order", 3),
    ("ACCEPTED", 1, "order", 1),
]


def test_the_rival_is_the_other_producers_command() -> None:
    assert (rival("A-race-3-1"), rival("B-race-3-1")) == ("B-race-3-1", "A-race-3-1")


def test_a_projection_is_behind_until_it_has_read_to_the_end() -> None:
    wanted = {("outcome", "order.responses", 0): 5, ("outcome", "order.responses", 1): 2}

    assert behind(wanted, {}) == [*wanted]
    assert behind(wanted, {("outcome", "order.responses", 0): 5}) == [[*wanted][1]]
    assert behind(wanted, dict.fromkeys(wanted, 5)) == []
