"""Versions, hashes and outcomes of the aggregates of one partition; pure.

Of each aggregate it keeps where its events end and what its last outcome says: some hundred bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from verdict.model.source import Source
from verdict.operations.audit.finding import Check, Finding
from verdict.streaming.event_log.record import PositionedEvent
from verdict.wire.response import Response
from verdict.wire.stored_event import StoredEvent


@dataclass(frozen=True, slots=True)
class HistoryEnd:
    """Where an aggregate's events end, or the last outcome says so; `digest`: the last event's.

    The hash of an event that cannot be read is not known.
    """

    version: int
    digest: bytes | None
    place: Source


class Histories:
    """Takes the events of one partition in their order, and then its responses.

    Args:
        aggregate_type: Of the topic.
        answered: Whether all responses are there, that is, Kafka has dropped none of the partition.
    """

    def __init__(self, aggregate_type: str, answered: bool = True) -> None:
        self.aggregate_type = aggregate_type
        self._answered = answered
        self._tips: dict[str, HistoryEnd] = {}
        self._said: dict[str, HistoryEnd] = {}

    @property
    def aggregates(self) -> int:
        """How many aggregates have events."""
        return len(self._tips)

    def take(self, placed: PositionedEvent) -> Iterator[Finding]:
        """Look at the next event; yield what is wrong with it."""
        name = placed.aggregate_id
        tip = self._tips.get(name, HistoryEnd(0, b"", placed.place))
        if isinstance(placed.content, str):
            # what follows is looked at as if this were the next version
            unread = self._tips[name] = HistoryEnd(tip.version + 1, None, placed.place)
            yield self._finding(Check.CHAIN, name, unread, placed.content)
            return
        if placed.version <= tip.version:
            behind = f"lies behind version {tip.version}, at {tip.place}"
            what = f"{behind}: it is there twice, or came too late"
            yield self._finding(Check.VERSIONS, name, placed, what)
            return
        yield from self._followed(tip, placed, placed.content)
        digest = sha256(placed.content.value).digest()
        self._tips[name] = HistoryEnd(placed.version, digest, placed.place)

    def answer(self, response: Response, place: Source) -> None:
        """Take the next response in."""
        if response.duplicate or response.to_version is None:
            return
        self._said[response.aggregate_id] = HistoryEnd(
            response.to_version, response.last_hash, place
        )

    def close(self) -> Iterator[Finding]:
        """Yield what outcomes and events say differently of how they end."""
        for name in sorted({*self._tips, *self._said}):
            tip, said = self._tips.get(name), self._said.get(name)
            if said is None:
                if tip is not None and self._answered:
                    what = "no outcome tells of it or of any before"
                    yield self._finding(Check.VERSIONS, name, tip, what)
            elif tip is None or tip.version < said.version:
                if said.version:  # else it never existed, and was told so
                    yield self._cut_off(name, tip, said)
            elif tip.version > said.version:
                what = f"no outcome tells of it: the last one, at {said.place}, says version "
                yield self._finding(Check.VERSIONS, name, tip, f"{what}{said.version}")
            elif said.digest is not None and tip.digest not in (None, said.digest):
                yield self._altered(name, tip, said)

    def _followed(
        self, tip: HistoryEnd, placed: PositionedEvent, stored: StoredEvent
    ) -> Iterator[Finding]:
        name = placed.aggregate_id
        if placed.version > tip.version + 1:
            lacking = f"{tip.version + 1}"
            if placed.version > tip.version + 2:
                lacking += f" to {placed.version - 1}"
            what = f"follows version {tip.version}: version {lacking} is missing"
            yield self._finding(Check.VERSIONS, name, placed, what)
        elif tip.digest is not None and stored.event.previous_hash != tip.digest:
            said = stored.event.previous_hash.hex()[:16] or "nothing"
            if not tip.version:
                what = f"is the first one and names an event before it ({said}…)"
                yield self._finding(Check.CHAIN, name, placed, what)
                return
            what = (
                f"has the SHA-256 {tip.digest.hex()[:16]}…, and version {placed.version}, at "
                f"{placed.place}, says it was {said}…: one of the two was altered"
            )
            yield self._finding(Check.CHAIN, name, tip, what)

    def _finding(
        self, check: Check, name: str, at: HistoryEnd | PositionedEvent, what: str
    ) -> Finding:
        return Finding(
            check=check,
            what=what,
            aggregate_type=self.aggregate_type,
            aggregate_id=name,
            version=at.version,
            place=at.place,
        )

    def _cut_off(self, name: str, tip: HistoryEnd | None, said: HistoryEnd) -> Finding:
        ends = "there is none" if tip is None else f"they end with version {tip.version}"
        what = f"its last events are cut off: {ends}, the outcome says version {said.version}"
        return self._finding(Check.VERSIONS, name, said, what)

    def _altered(self, name: str, tip: HistoryEnd, said: HistoryEnd) -> Finding:
        assert tip.digest is not None
        assert said.digest is not None
        what = (
            f"has the SHA-256 {tip.digest.hex()[:16]}…, and the last outcome, at {said.place}, "
            f"says it was {said.digest.hex()[:16]}…: it was altered"
        )
        return self._finding(Check.LAST_HASH, name, tip, what)
