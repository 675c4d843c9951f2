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
    """Where an aggregate's events end; `digest` is the last event's, None if it is unreadable."""

    version: int
    digest: bytes | None
    place: Source


class Histories:
    """Takes the events of one partition in their order, and then its responses.

    `answered`: all responses are there, because Kafka has dropped none of the partition.
    """

    def __init__(self, aggregate_type: str, answered: bool = True) -> None:
        self.aggregate_type = aggregate_type
        self._answered = answered
        self._events: dict[str, HistoryEnd] = {}
        self._outcomes: dict[str, HistoryEnd] = {}

    @property
    def aggregates(self) -> int:
        """How many aggregates have events."""
        return len(self._events)

    def take(self, placed: PositionedEvent) -> Iterator[Finding]:
        """Take the next event; yield what is wrong with it."""
        name = placed.aggregate_id
        last = self._events.get(name, HistoryEnd(0, b"", placed.place))
        if isinstance(placed.content, str):
            # later events are looked at as if this were the next version
            unread = self._events[name] = HistoryEnd(last.version + 1, None, placed.place)
            yield self._finding(Check.CHAIN, name, unread, placed.content)
            return
        if placed.version <= last.version:
            behind = f"comes after version {last.version}, at {last.place}"
            what = f"{behind}: it is there twice, or came too late"
            yield self._finding(Check.VERSIONS, name, placed, what)
            return
        yield from self._chain(last, placed, placed.content)
        digest = sha256(placed.content.value).digest()
        self._events[name] = HistoryEnd(placed.version, digest, placed.place)

    def answer(self, response: Response, place: Source) -> None:
        """Take the next response."""
        if not response.duplicate and response.to_version is not None:
            self._outcomes[response.aggregate_id] = HistoryEnd(
                response.to_version, response.last_hash, place
            )

    def close(self) -> Iterator[Finding]:
        """Yield where outcomes and events differ about how they end."""
        for name in sorted({*self._events, *self._outcomes}):
            last, said = self._events.get(name), self._outcomes.get(name)
            if said is None:
                if last is not None and self._answered:
                    what = "no outcome tells of it or of any before"
                    yield self._finding(Check.VERSIONS, name, last, what)
            elif last is None or last.version < said.version:
                if said.version:  # else a rejection says that it never existed
                    ends = f"they end with version {last.version}" if last else "there is none"
                    what = (
                        f"its last events are cut off: {ends}, the outcome says version "
                        f"{said.version}"
                    )
                    yield self._finding(Check.VERSIONS, name, said, what)
            elif last.version > said.version:
                what = f"no outcome tells of it: the last one, at {said.place}, says version "
                yield self._finding(Check.VERSIONS, name, last, f"{what}{said.version}")
            elif None not in (said.digest, last.digest) and last.digest != said.digest:
                what = (
                    f"has the SHA-256 {_short(last.digest)}, and the last outcome, at "
                    f"{said.place}, says it was {_short(said.digest)}: it was altered"
                )
                yield self._finding(Check.LAST_HASH, name, last, what)

    def _chain(
        self, last: HistoryEnd, placed: PositionedEvent, stored: StoredEvent
    ) -> Iterator[Finding]:
        name = placed.aggregate_id
        if placed.version > last.version + 1:
            missing = f"{last.version + 1}"
            if placed.version > last.version + 2:
                missing += f" to {placed.version - 1}"
            what = f"follows version {last.version}: version {missing} is missing"
            yield self._finding(Check.VERSIONS, name, placed, what)
        elif last.digest is not None and stored.event.previous_hash != last.digest:
            said = stored.event.previous_hash.hex()[:16] or "nothing"
            if not last.version:
                what = f"is the first one and names an event before it ({said}…)"
                yield self._finding(Check.CHAIN, name, placed, what)
                return
            what = (
                f"has the SHA-256 {_short(last.digest)}, and version {placed.version}, at "
                f"{placed.place}, says it was {said}…: one of the two was altered"
            )
            yield self._finding(Check.CHAIN, name, last, what)

    def _finding(
        self, check: Check, name: str, at: HistoryEnd | PositionedEvent, what: str
    ) -> Finding:
        return Finding(check, what, self.aggregate_type, name, at.version, at.place)


def _short(digest: bytes | None) -> str:
    return f"{(digest or b'').hex()[:16]}…"
