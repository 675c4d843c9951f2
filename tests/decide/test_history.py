from hashlib import sha256
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.position import Position
from schemas.position import PositionAdjusted, PositionClosed, PositionOpened
from tests.application import APPLICATION, encode_event
from tests.wire.examples import NOON, recorded
from verdict.model.command import LifeCycle
from verdict.model.message import Event
from verdict.wire.stored_event import InvalidHistoryError, StoredEvent
from verdict.write_side.decide.fold import fold
from verdict.write_side.decide.snapshot import NEVER_EXISTED

OPENED = PositionOpened(client="ada", ticker="AAPL", exchange="NASDAQ", amount=100)
SECOND = 1000


def stored(*payloads: Event) -> list[StoredEvent]:
    """Return a history: chained, each event a second after the one before it."""

    def following(before: StoredEvent | None, payload: Event) -> StoredEvent:
        version = 1 if before is None else before.event.version + 1
        event = recorded(
            "position",
            payload,
            version=version,
            decided_at=NOON + version * SECOND,
            previous_hash=b"" if before is None else sha256(before.value).digest(),
        )
        return StoredEvent(event, encode_event(event))

    first, *rest = payloads
    return [*accumulate(rest, following, initial=following(None, first))]


RULES = APPLICATION.aggregate("position")
HISTORY = stored(OPENED, *(PositionAdjusted(amount=n) for n in (2, 3)), PositionClosed())


def amount_at(at_version: int | None = None, at: int | None = None) -> int | None:
    state = fold(RULES, HISTORY, at_version, at).state
    assert state is None or isinstance(state, Position)
    return None if state is None else state.amount


def test_all_events_give_the_aggregate_as_it_is() -> None:
    now = fold(RULES, HISTORY)

    assert (now.version, now.life_cycle, now.state) == (4, LifeCycle.DELETED, None)
    assert now.decided_at == NOON + 4 * SECOND
    assert now.last_hash == sha256(HISTORY[-1].value).digest()


def test_as_of_a_version() -> None:
    assert [amount_at(at_version=n) for n in range(5)] == [None, 100, 2, 3, None]
    assert fold(RULES, HISTORY, at_version=0) == NEVER_EXISTED
    assert fold(RULES, HISTORY, at_version=9).version == 4, "for the caller to tell"


@pytest.mark.proves("A-04")
def test_as_of_a_time_an_event_of_that_very_time_counts() -> None:
    assert [amount_at(at=NOON + n) for n in (999, 1000, 2999, 3000)] == [None, 100, 2, 3]
    assert fold(RULES, HISTORY, at=NOON + 3999).version == 3


@pytest.mark.proves("A-04")
@given(st.data())
def test_any_version_is_the_fold_of_the_events_up_to_it(data: st.DataObject) -> None:
    amounts = data.draw(st.lists(st.integers(1, 9), max_size=8))
    history = stored(OPENED, *(PositionAdjusted(amount=n) for n in amounts))
    version = data.draw(st.integers(0, len(history)))
    again = data.draw(st.lists(st.sampled_from(history), max_size=3))

    assert fold(RULES, history, at_version=version) == fold(RULES, history[:version])
    assert fold(RULES, [*history[:version], *history[:version], *history[version:]]) == fold(
        RULES, history
    )
    assert fold(RULES, [*history, *again]) == fold(RULES, history)


@pytest.mark.proves("A-04")
def test_an_altered_event_is_found_by_its_successor() -> None:
    first, second, *rest = HISTORY
    other = second.event._replace(payload=PositionAdjusted(amount=99))
    altered = StoredEvent(other, encode_event(other))

    assert fold(RULES, [first, altered]).version == 2
    with pytest.raises(InvalidHistoryError, match=r"version 3 carries the hash .* one was altered"):
        fold(RULES, [first, altered, *rest])


def test_events_may_come_late_and_again_and_a_missing_version_is_named() -> None:
    first, second, *rest = HISTORY

    assert fold(RULES, [first, *rest, second, first]) == fold(RULES, HISTORY)
    with pytest.raises(InvalidHistoryError, match="version 3 follows version 1"):
        fold(RULES, [first, *rest])


@pytest.mark.proves("A-04", "G-07")
def test_a_version_that_is_there_with_two_events_is_named_however_far_apart() -> None:
    first, *rest = HISTORY
    event = first.event._replace(actor="mallory")

    assert fold(RULES, [*HISTORY, first]) == fold(RULES, HISTORY), (
        "the same one again, as archive and Kafka have"
    )
    with pytest.raises(InvalidHistoryError, match=r"version 1 is there twice with different bytes"):
        fold(RULES, [first, *rest, StoredEvent(event, encode_event(event))])
