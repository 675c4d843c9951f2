"""Records that stop a projection: whoever follows their topic waits for a person there.

So does whoever needs records that Kafka has dropped; the place is that of the first one then.
An event that one projection fails at is that projection's affair. Here nobody can tell what the
record is, or it contradicts one before it: it is repaired by nobody, and either the code learns to
read it or a person decides that it is passed over, by all that reads the topic and for ever.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import sha256
from typing import Any

from confluent_kafka import Message
from sqlalchemy import Engine, Row, select

from verdict.database.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.event_log.placed import laid
from verdict.kafka.log import KafkaLog
from verdict.model.message import iso_time
from verdict.model.source import Source
from verdict.projection import decision, versions
from verdict.projection.batch import Unreadable
from verdict.projection.database import snapshot
from verdict.projection.decoding import Decoding
from verdict.unhandled.kind import By, Facts, NobodyKept, NothingWaits
from verdict.wire.decision import Decision
from verdict.wire.spans import Partition, Span

PLACE = re.compile(r"([A-Za-z0-9._-]+):([0-9]{1,9}):([0-9]{1,19})")
SHOWN_BYTES = 1024

Decide = Callable[[Sequence[Decision]], None]
OpenLog = Callable[[], AbstractContextManager[KafkaLog]]


def place_of(address: str) -> Source | None:
    """Return the place that `TOPIC:PARTITION:OFFSET` names, None when it names none."""
    found = PLACE.fullmatch(address)
    return found and Source(found[1], int(found[2]), int(found[3]))


class StoppingRecords:
    """Records by `TOPIC:PARTITION:OFFSET`.

    Args:
        engine: Of the read side.
        log: Opens a reader of Kafka.
        decide: Writes decisions down where every run finds them.
        decoding: Tells what can be read.
    """

    def __init__(self, engine: Engine, log: OpenLog, decide: Decide, decoding: Decoding) -> None:
        self._engine = engine
        self._log = log
        self._decide = decide
        self._decoding = decoding

    def knows(self, address: str) -> bool:
        """Tell whether the address is a place in Kafka."""
        return place_of(address) is not None

    def listed(self) -> Iterator[Facts]:
        """Yield the records at which projections stopped, by place."""
        waiting: dict[Source, list[Row[Any]]] = {}
        with snapshot(self._engine) as connection:
            decided = decision.passed_over(connection)
            for row in connection.execute(select(versions.table).order_by("projection")):
                if row.topic is not None:
                    place = Source(row.topic, row.partition, row.offset)
                    waiting.setdefault(place, []).append(row)
        for place, rows in sorted(waiting.items()):
            if not decided.holds(place.topic, place.partition, place.offset):
                yield _facts(place, rows)

    def shown(self, address: str) -> Facts:
        """Return what stops there, and the beginning of the record as it lies in Kafka.

        Raises:
            NothingWaits: Nothing does.
            Unreachable: Kafka does not answer.
        """
        facts, place = self._found(address)
        with self._log() as log:
            earliest = _earliest(log, place)
            span = {Partition.of(place): Span(place.offset, place.offset + 1)}
            message = None if place.offset < earliest else next(log.read(span), None)
        return facts | {"dropped_before": earliest} | _content(message)

    def edit(self, address: str, document: bytes, by: By) -> str:
        """Refuse: what lies in the log is never changed."""
        self._found(address)
        raise VerdictError(
            f"{address} lies in the log, which is never changed: pass it over with `verdict "
            f"letters evict {address} --why …`, or mend what cannot read it and start again"
        )

    def replay(self, address: str, by: By) -> str:
        """Refuse: every start tries it again."""
        self._found(address)
        raise VerdictError(
            f"{address} is tried again at each start of `verdict up`: mend what cannot read it and "
            f"start again, or pass it over with `verdict letters evict {address} --why …`"
        )

    def evict(self, address: str, by: By, all_behind: bool = False) -> str:
        """Pass the record over, or what Kafka dropped, for ever and by all that reads its topic.

        Args:
            address: Of the record.
            by: Who decides.
            all_behind: The records behind it in its partition, too, that nobody can read either.

        Raises:
            NothingWaits: Nothing stopped there.
            Unreachable: Kafka does not answer; nothing is decided.
        """
        facts, place = self._found(address)
        with self._log() as log:
            first = Span(place.offset, max(place.offset + 1, _earliest(log, place)))
            spans = [first, *(self._unreadable_behind(log, place, first) if all_behind else ())]
        why, at = by.why or "", wall_clock()
        made = [
            Decision(
                source=replace(place, offset=span.start),
                until=span.end, who=by.who, why=why, decided_at=at,
            )
            for span in _joined(spans)
        ]  # fmt: skip
        self._decide(made)
        with self._engine.begin() as connection:
            decision.copy(connection, made)
        names: Sequence[str] = facts["projections"]
        others = f" and {len(spans) - 1} behind it are" if all_behind else " is"
        return (
            f"{address}{others} passed over by all that reads them, for ever: {', '.join(names)} "
            f"{'go' if len(names) > 1 else 'goes'} on at once, or when `verdict up` runs again; if "
            "it was an event, its aggregate waits for that version then"
        )

    def _unreadable_behind(self, log: KafkaLog, place: Source, first: Span) -> Iterator[Span]:
        partition = Partition.of(place)
        end = log.bounds([partition])[partition].end
        for record in map(laid, log.read({partition: Span(min(first.end, end), end)})):
            if isinstance(self._decoding.delivery(*record).record, Unreadable):
                yield Span(record.offset, record.offset + 1)

    def accept(self, address: str, by: By) -> str:
        """Refuse: only evicting it lets anybody go on."""
        raise NobodyKept(address)

    def _found(self, address: str) -> tuple[Facts, Source]:
        place, found = place_of(address), [one for one in self.listed() if one["id"] == address]
        if place is None or not found:
            raise NothingWaits(address)
        return found[0], place


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return the spans, which are in order, with those as one that meet."""
    joined: list[Span] = []
    for span in spans:
        if joined and joined[-1].end == span.start:
            span = Span(joined.pop().start, span.end)
        joined.append(span)
    return joined


def _earliest(log: KafkaLog, place: Source) -> int:
    partition = Partition.of(place)
    return log.bounds([partition])[partition].start


def _facts(place: Source, rows: Sequence[Row[Any]]) -> Facts:
    names = [row.projection for row in rows]
    return {
        "id": str(place),
        "kind": "record",
        "since": iso_time(min(row.stopped_at for row in rows)),
        "behind": None,
        "what": f"record that stops {', '.join(names)}",
        "error": rows[0].error,
        "projections": names,
        "topic": place.topic,
        "partition": place.partition,
        "offset": place.offset,
    }


def _content(message: Message | None) -> Facts:
    if message is None:
        return {"key": None, "payload": None, "length": None, "sha256": None}
    value = message.value()
    whole = value if isinstance(value, bytes) else b""
    return {
        "key": repr(message.key()),
        "payload": None if value is None else repr(whole[:SHOWN_BYTES]),
        "length": None if value is None else len(whole),
        "sha256": None if value is None else sha256(whole).hexdigest(),
    }
