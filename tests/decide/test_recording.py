"""What is recorded of a decision: events, their chain and their times."""

from hashlib import sha256
from itertools import pairwise

import pytest

from commands.order import CancelOrder, DeleteOrder, FillOrder
from commands.position import AdjustPosition, ClosePosition
from tests.application import decode_event
from tests.decide.desk import FILL_ALL, MODIFY, OPEN, PLACE, after, command, judge
from tests.traffic import START
from verdict.model.command import Command
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.model.source import Source
from verdict.wire.stored_event import StoredEvent
from verdict.write_side.decide.snapshot import NEVER_EXISTED

LIFE = (PLACE, MODIFY, FillOrder(quantity=2, price_cents=1), CancelOrder(), DeleteOrder())
REOPENED = (OPEN, AdjustPosition(amount=5), ClosePosition(), OPEN, ClosePosition(), OPEN)


def history(*payloads: Command, times: tuple[int, ...] = ()) -> list[StoredEvent]:
    """Return all events of accepted commands, one after the other."""
    snapshot, events = NEVER_EXISTED, list[StoredEvent]()
    for offset, payload in enumerate(payloads):
        at = times[offset] if times else offset
        verdict = judge(command(payload, snapshot.version, offset=offset, at=at), snapshot)
        snapshot = verdict.snapshot
        events += verdict.events
    assert snapshot.version == len(events)
    return events


@pytest.mark.proves("C-15")
def test_an_event_carries_all_that_was_known_of_its_command() -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    known = {"correlation_id": "flow-1", "causation_id": "e-0", "actor": "ada"}
    asked = command(PLACE, 0, offset=42, at=5, command_id="c-9", traceparent=trace, **known)

    event = judge(asked).events[0].event

    assert event == RecordedEvent(
        event_id("order", "order-1", 1), "order", "order-1", 1, 0, 1, "c-9", asked.digest,
        "flow-1", "c-9", "ada", trace, START + 5, Source("order.commands", 0, 42), "1", b"",
        event.payload,
    )  # fmt: skip


@pytest.mark.proves("C-08")
def test_the_events_of_one_command_are_adjacent_and_know_their_place() -> None:
    verdict = judge(command(FILL_ALL, 1), after(PLACE))
    first, second = verdict.events

    assert [(each.event.index, each.event.count) for each in (first, second)] == [(0, 2), (1, 2)]
    assert [each.event.version for each in (first, second)] == [2, 3]
    assert first.event.command_id == second.event.command_id
    assert first.event.decided_at == second.event.decided_at
    assert second.event.previous_hash == sha256(first.value).digest()
    assert verdict.snapshot.last_hash == sha256(second.value).digest()
    assert judge(command(FILL_ALL, 1), after(PLACE)) == verdict, "the same bytes again"


@pytest.mark.proves("C-04", "C-16")
@pytest.mark.parametrize("payloads", [LIFE, REOPENED], ids=["order", "position"])
def test_events_are_a_chain_without_a_gap_through_deletes_and_reopenings(
    payloads: tuple[Command, ...],
) -> None:
    """Each carries the hash of the bytes of the one before, and its bytes are the event."""
    events = history(*payloads)

    assert [one.event.version for one in events] == [*range(1, len(payloads) + 1)]
    assert events[0].event.previous_hash == b""
    for before, after_it in pairwise(events):
        assert after_it.event.previous_hash == sha256(before.value).digest()
    for stored in events:
        assert decode_event(stored.event.aggregate_type, stored.value) == stored.event
