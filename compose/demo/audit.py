"""Reads the events as any consumer could, and knows what they must be: no part of the read side.

Versions without a gap, each event with the hash of the one before it, and the open positions by
a fold of its own.
"""

from collections import Counter
from collections.abc import Collection
from hashlib import sha256

from schemas.position import (
    PositionClosed,
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from schemas.recorded_event import RecordedEvent
from schemas.wire.records import decode_event


class Audit:
    """Takes the events of all aggregates, each aggregate's in the order in which they lie."""

    def __init__(self) -> None:
        self.events = 0
        self.by_correlation: Counter[str] = Counter()
        self.out_of_version: list[str] = []
        self.out_of_chain: list[str] = []
        self._last: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._open: dict[str, tuple[str, str]] = {}

    @property
    def aggregates(self) -> int:
        """How many aggregates have events."""
        return len(self._last)

    def take(self, aggregate_type: str, value: bytes) -> None:
        """Look at the next event.

        Args:
            aggregate_type: Of the topic.
            value: The record's bytes.
        """
        event = decode_event(aggregate_type, value)
        self.events += 1
        self.by_correlation[event.correlation_id] += 1
        identity = (aggregate_type, event.aggregate_id)
        version, previous_hash = self._last.get(identity, (0, b""))
        where = f"{aggregate_type} {event.aggregate_id} version {event.version}"
        if event.version != version + 1:
            self.out_of_version.append(f"{where} after version {version}")
        if event.previous_hash != previous_hash:
            self.out_of_chain.append(where)
        self._last[identity] = (event.version, sha256(value).digest())
        if aggregate_type == "position":
            self._follow(event)

    def holders(self, exchanges: Collection[str]) -> Counter[str]:
        """Return who holds open positions on one of `exchanges`, and how many."""
        return Counter(client for client, exchange in self._open.values() if exchange in exchanges)

    def _follow(self, recorded: RecordedEvent) -> None:
        position, event = recorded.aggregate_id, recorded.payload
        client, exchange = self._open.get(position, ("", ""))
        if isinstance(event, PositionOpened):
            client, exchange = event.client, event.exchange
        elif isinstance(event, PositionTransferred):
            client = event.client
        elif isinstance(event, PositionRelisted):
            exchange = event.exchange
        self._open[position] = (client, exchange)
        if isinstance(event, PositionClosed):
            del self._open[position]
