"""Versions that are missing where somebody decided to pass records over."""

from dataclasses import replace

import pytest

from schemas.position import PositionAdjusted
from tests.application import APPLICATION
from tests.decision.test_history import OPENED, stored
from verdict.errors import VerdictError
from verdict.event_log.chapters import Fields, chapters, nowhere, reached
from verdict.event_log.decided import by_decision, in_words
from verdict.event_log.folding import Moment, folded
from verdict.event_log.placed import Placed
from verdict.model.life_cycle import LifeCycle
from verdict.model.source import Source
from verdict.wire.decision import Decision, Lost

EVENTS = "order.events"
RULES = APPLICATION.aggregate("position")
FIRST_AT = stored(OPENED)[0].event.decided_at
FIRST, BEHIND = Source(EVENTS, 0, 10), Source(EVENTS, 0, 20)


def decided(offset: int, until: int) -> Decision:
    source = Source(EVENTS, 0, offset)
    return Decision(source=source, until=until, who="ada", why="a bomb", decided_at=5)


def test_versions_are_missing_by_the_decision_about_a_place_between_their_neighbours() -> None:
    bomb = decided(12, 13)

    assert by_decision({1: FIRST, 3: BEHIND}, 3, [bomb]) == {2: bomb}
    assert by_decision({3: BEHIND}, 3, [decided(0, 2)]) == {1: decided(0, 2), 2: decided(0, 2)}
    assert by_decision({1: FIRST}, 2, [bomb]) == {2: bomb}, "the last one"
    assert by_decision({}, 1, [bomb]) == {1: bomb}


def test_what_no_decision_explains_is_missing() -> None:
    assert by_decision({1: FIRST, 3: BEHIND}, 3, []) == {}
    assert by_decision({1: FIRST, 3: BEHIND}, 3, [decided(5, 10), decided(21, 22)]) == {}
    assert by_decision({1: FIRST, 4: BEHIND}, 4, [decided(12, 13)]) == {}, "one place, two versions"


def test_versions_of_who_is_lost_are_missing_by_that_and_later_ones_are_not() -> None:
    end = decided(BEHIND.offset + 1, BEHIND.offset + 1)
    lost = replace(end, lost=Lost("position", "p-1", 3))

    assert by_decision({1: FIRST, 4: BEHIND}, 4, [lost], [lost]) == {2: lost, 3: lost}
    assert by_decision({1: FIRST, 4: BEHIND}, 6, [lost], [lost]) == {2: lost, 3: lost}
    assert by_decision({1: FIRST, 4: BEHIND}, 4, [lost]) == {}, "it is another that is lost"


@pytest.mark.proves("G-07")
def test_a_history_says_who_passed_a_version_over_and_is_whole() -> None:
    source = {"topic": "order.commands", "partition": 0, "offset": 1}
    events: list[Fields] = [{"version": version, "source": source} for version in (1, 3)]
    response: Fields = {"to_version": 3, "source": source}
    found = [*chapters([], [response], events)]
    explained = by_decision({1: FIRST, 3: BEHIND}, reached(found), [decided(12, 13)])

    [lacking] = nowhere(found)
    assert lacking.startswith("events of the versions 2 are not archived, nor in Kafka behind")
    assert [*nowhere(found, explained)] == []
    assert in_words("2", explained[2]) == (
        "version 2 is passed over: ada decided so about order.events:0:12 (a bomb)"
    )


@pytest.mark.proves("G-07")
def test_a_state_goes_on_behind_what_was_passed_over_and_says_so() -> None:
    said: list[str] = []
    first, _, third = (
        Placed(Source(EVENTS, 0, 10 * one.event.version), "p-1", one.event.version, one)
        for one in stored(OPENED, PositionAdjusted(amount=7), PositionAdjusted(amount=9))
    )

    places, snapshot = folded(
        RULES,
        "position 'p-1'",
        [first, third],
        Moment(),
        lambda: [decided(20, 21)],
        [],
        said.append,
    )

    assert (snapshot.version, places[3].offset) == (3, 30)
    assert "position 'p-1': version 2 is passed over: ada decided so" in said[0]
    with pytest.raises(VerdictError, match="version 3 follows version 1; no state can be told"):
        folded(
            RULES,
            "position 'p-1'",
            [first, third],
            Moment(),
            lambda: [decided(31, 32)],
            [],
            said.append,
        )


@pytest.mark.proves("C-17")
@pytest.mark.parametrize(
    ("moment", "version", "life_cycle"),
    [
        (Moment(), 4, LifeCycle.ACTIVE),
        (Moment(version=3), 3, LifeCycle.DELETED),
        (Moment(version=1), 1, LifeCycle.ACTIVE),
        (Moment(until=FIRST_AT), 1, LifeCycle.ACTIVE),
    ],
)
def test_a_state_is_deleted_where_nobody_can_tell_it_and_goes_on_from_there(
    moment: Moment, version: int, life_cycle: LifeCycle
) -> None:
    """Versions 2 and 3 are lost, whatever of them is there; version 4 begins anew."""
    first, second, _, fourth = (
        Placed(Source(EVENTS, 0, 10 * one.event.version), "p-1", one.event.version, one)
        for one in stored(OPENED, PositionAdjusted(amount=7), PositionAdjusted(amount=9), OPENED)
    )
    lost = replace(decided(35, 35), decided_at=FIRST_AT + 1, lost=Lost("position", "p-1", 3))
    said: list[str] = []

    for history in ([first, fourth], [first, second, fourth]):
        _, snapshot = folded(RULES, "position 'p-1'", history, moment, list, [lost], said.append)
        assert (snapshot.version, snapshot.life_cycle) == (version, life_cycle)

    told = "position 'p-1': nobody can tell what it was at version 3, up to which events are lost"
    assert all(one.startswith(told) for one in said)
    assert bool(said) == (version > 1)
    assert by_decision({1: FIRST, 4: BEHIND}, 4, [], [lost]) == {2: lost, 3: lost}
    assert by_decision({1: FIRST}, 3, [], [lost]) == {2: lost, 3: lost}
    assert by_decision({1: FIRST}, 4, [], [lost]) == {2: lost, 3: lost}
