"""Whatever happens, in whatever batches and with whatever accidents, the tables are the events."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from projections.us_exchanges import US_EXCHANGES
from schemas.position import PositionClosed, PositionOpened
from tests.kit.databases import ReadSide, Rows
from tests.read_side.accidents import Followed, Step, follow, of_positions, steps
from tests.tiers import examples
from verdict.adapters.sql import bulk
from verdict.model.message import iso_time
from verdict.model.recorded_event import RecordedEvent


class Holders(Followed):
    """Few positions of few clients, in the US and elsewhere."""

    def __init__(self, read_side: ReadSide) -> None:
        super().__init__(read_side, "us_holder", "position")
        self._shown: set[str] = set()
        self._announced = 0

    def check(self, events: Sequence[RecordedEvent]) -> None:
        """Compare table and feed with what the events say."""
        wanted = oracle(events)
        assert self.read_side.select("SELECT * FROM us_holder ORDER BY client") == wanted
        feed = self.read_side.select("SELECT seq, kind, client FROM us_holder_change ORDER BY seq")
        assert [seq for seq, _, _ in feed] == [*range(1, len(feed) + 1)]
        held = {client for client, _, _ in wanted}
        changed = {("entered", client) for client in held - self._shown}
        changed |= {("left", client) for client in self._shown - held}
        announced = [(kind, client) for _, kind, client in feed[self._announced :]]
        assert sorted(announced) == sorted(changed)
        self._shown, self._announced = held, len(feed)


def oracle(events: Iterable[RecordedEvent]) -> Rows:
    """Return client, number of positions and earliest opening, of the open positions in the US."""
    positions: dict[str, dict[str, Any]] = {}
    for event in events:
        if isinstance(event.payload, PositionClosed):
            del positions[event.aggregate_id]
            continue
        if isinstance(event.payload, PositionOpened):
            positions[event.aggregate_id] = {"opened": event.decided_at}
        positions[event.aggregate_id].update(event.payload.model_dump())
    held: dict[str, list[int]] = {}
    for position in positions.values():
        if position["exchange"] in US_EXCHANGES:
            held.setdefault(position["client"], []).append(position["opened"])
    return [(client, len(at), iso_time(min(at))) for client, at in sorted(held.items())]


@pytest.fixture
def copies_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PostgreSQL get some rows by COPY, which in life are many."""
    monkeypatch.setattr(bulk, "MANY", 3)


@pytest.mark.proves("H-07", "H-08", "A-05")
@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.usefixtures("copies_early")
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=steps(of_positions, [f"p-{number}" for number in range(6)]))
def test_table_and_feed_are_what_the_events_say(read_side: ReadSide, sequence: list[Step]) -> None:
    follow(Holders(read_side), sequence)
