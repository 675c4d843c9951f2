"""Records beyond repair at which projections stop, and the recorded decision to skip them.

A projection also stops at the first record that it needs and Kafka has dropped.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import Engine, Row, select

from verdict.adapters.kafka.reader import KafkaLog, Options
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.model.message import Fields, iso_time
from verdict.model.source import Source
from verdict.operations.repair.operator import NothingWaitsError, OperatorIdentity
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables import skips, versions
from verdict.streaming.event_log.skip_log import write_skips
from verdict.streaming.event_log.skips import SkipRequest
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

RANGE = re.compile(r"([A-Za-z0-9._-]+):([0-9]{1,9}):([0-9]{1,19})(?:-([0-9]{1,19}))?")
Stopped = Sequence[Row[Any]]


def range_of(address: str) -> tuple[Source, int | None] | None:
    """Return what `TOPIC:PARTITION:OFFSET[-UNTIL]` names, None if it names nothing."""
    found = RANGE.fullmatch(address)
    if found is None:
        return None
    place, until = Source(found[1], int(found[2]), int(found[3])), found[4]
    return place, None if until is None else int(until)


def place_of(address: str) -> Source | None:
    """Return the position that `TOPIC:PARTITION:OFFSET` names, None if it names none."""
    place, until = range_of(address) or (None, None)
    return place if until is None else None


class StoppingRecords:
    """Records by their position; decisions go to the topic that each run reads.

    `options` returns the options for Kafka, which only a skip needs.
    """

    def __init__(self, engine: Engine, options: Callable[[], Options], topics: Topics) -> None:
        self._engine = engine
        self._options = options
        self._topics = topics

    def listed(self) -> Iterator[Fields]:
        """Yield the records at which projections stopped, by position, without skipped ones."""
        for place, rows in sorted(self._stopped().items()):
            yield _facts(place, rows)

    def shown(self, address: str) -> Fields:
        """Return which projections stopped at a position, and why."""
        return _facts(*self._at(address))

    def skip(self, place: Source, until: int | None, by: OperatorIdentity) -> str:
        """Skip the record, or those that Kafka dropped; return what happens next."""
        _, rows = self._at(str(place))
        names = [row.projection for row in rows]
        with KafkaLog(self._options()) as log:
            partition = TopicPartition.of(place)
            kept = log.bounds([partition])[partition]
        end = max(place.offset + 1, kept.start) if until is None else until
        if not place.offset < end <= max(kept.end, place.offset + 1):
            raise VerdictError(
                f"nothing was skipped: {place}-{end} is no range of records: name an offset after "
                f"{place.offset}, up to {kept.end}, where the partition ends"
            )
        request = SkipRequest(operator=by.operator, reason=by.reason or "", at=wall_clock())
        made = request.record(place, end)
        write_skips(self._options(), self._topics, [made])
        with self._engine.begin() as connection:
            skips.copy(connection, [made])
        others = "" if end == place.offset + 1 else f" up to {end - 1}"
        return (
            f"{place}{others} is skipped by all that reads the topic. {', '.join(names)} "
            f"{'continue' if len(names) > 1 else 'continues'} at once, or when `verdict up` runs "
            "again. If a skipped record was an event, its aggregate is blocked at that version"
        )

    def _stopped(self) -> dict[Source, list[Row[Any]]]:
        found: dict[Source, list[Row[Any]]] = {}
        with snapshot(self._engine) as connection:
            decided = skips.passed_over(connection)
            for row in connection.execute(select(versions.table).order_by("projection")):
                if row.topic is not None and not decided.holds(
                    row.topic, row.partition, row.offset
                ):
                    place = Source(row.topic, row.partition, row.offset)
                    found.setdefault(place, []).append(row)
        return found

    def _at(self, address: str) -> tuple[Source, Stopped]:
        found = ((place, rows) for place, rows in self._stopped().items() if str(place) == address)
        if (one := next(found, None)) is None:
            raise NothingWaitsError(
                address, "`verdict status` names the projections that are stopped"
            )
        return one


def _facts(place: Source, rows: Stopped) -> Fields:
    names = [row.projection for row in rows]
    return {
        "id": str(place),
        "kind": "record",
        "since": iso_time(min(row.stopped_at for row in rows)),
        "what": f"record that stops {', '.join(names)}",
        "error": rows[0].error,
        "projections": names,
        "topic": place.topic,
        "partition": place.partition,
        "offset": place.offset,
    }
