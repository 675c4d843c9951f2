"""Records that stop a projection: whoever follows their topic waits for a person there.

So does whoever needs records that Kafka has dropped; the place is that of the first one then.
An event that one projection fails at is that projection's affair. Here nobody can tell what the
record is, or it contradicts one before it: it is repaired by nobody, and either the code learns to
read it or a person decides that it is passed over, by all that reads the topic and for ever.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Any

from confluent_kafka import Message
from sqlalchemy import Engine, Row, select

from verdict.errors import VerdictError
from verdict.kafka.log import KafkaLog
from verdict.model.message import iso_time
from verdict.model.source import Source
from verdict.projection import decision, versions
from verdict.projection.applier import wall_clock
from verdict.projection.database import snapshot
from verdict.unhandled.kind import By, Facts, NobodyKept, NothingBehind, NothingWaits
from verdict.wire.decision import Decision
from verdict.wire.spans import Partition, Span

PLACE = re.compile(r"([A-Za-z0-9._-]+):([0-9]{1,9}):([0-9]{1,18})")
SHOWN_BYTES = 1024

Decide = Callable[[Decision], None]
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
        decide: Writes a decision down where every run finds it.
    """

    def __init__(self, engine: Engine, log: OpenLog, decide: Decide) -> None:
        self._engine = engine
        self._log = log
        self._decide = decide

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
        facts, place = self._found(address), place_of(address)
        assert place is not None
        with self._log() as log:
            earliest = _earliest(log, place)
            span = {_partition(place): Span(place.offset, place.offset + 1)}
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

        Raises:
            NothingWaits: Nothing stopped there.
            Unreachable: Kafka does not answer; nothing is decided.
        """
        if all_behind:
            raise NothingBehind(address)
        facts, place = self._found(address), place_of(address)
        assert place is not None
        with self._log() as log:
            earliest = _earliest(log, place)
        made = Decision(
            source=place,
            until=max(place.offset + 1, earliest),
            who=by.who,
            why=by.why or "",
            decided_at=wall_clock(),
        )
        self._decide(made)
        with self._engine.begin() as connection:
            decision.copy(connection, [made])
        names: Sequence[str] = facts["projections"]
        return (
            f"{address} is passed over by all that reads it, for ever: {', '.join(names)} "
            f"{'go' if len(names) > 1 else 'goes'} on at once, or when `verdict up` runs again; if "
            "it was an event, its aggregate waits for that version then"
        )

    def accept(self, address: str, by: By) -> str:
        """Refuse: only evicting it lets anybody go on."""
        raise NobodyKept(address)

    def _found(self, address: str) -> Facts:
        found = next((item for item in self.listed() if item["id"] == address), None)
        if found is None:
            raise NothingWaits(address)
        return found


def _partition(place: Source) -> Partition:
    return Partition(place.topic, place.partition)


def _earliest(log: KafkaLog, place: Source) -> int:
    partition = _partition(place)
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
