"""Records beyond repair at which projections stop, and the recorded decision to skip them.

A projection also stops where Kafka has dropped records that it needs: at the first of them.
A skip holds for all that reads the topic, in each later run.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Engine, Row, select

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.model.message import iso_time
from verdict.model.source import Source
from verdict.operations.repair.blocked import Facts, NothingWaitsError
from verdict.operations.repair.operator_identity import OperatorIdentity
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables import skips, versions
from verdict.wire.partitions import TopicPartition
from verdict.wire.skip_record import SkipRecord

PLACE = re.compile(r"([A-Za-z0-9._-]+):([0-9]{1,9}):([0-9]{1,19})")
RANGE = re.compile(rf"({PLACE.pattern})(?:-([0-9]{{1,19}}))?")
Decide = Callable[[Sequence[SkipRecord]], None]
OpenLog = Callable[[], AbstractContextManager[KafkaLog]]


def place_of(address: str) -> Source | None:
    """Return the position that `TOPIC:PARTITION:OFFSET` names, None when it names none."""
    found = PLACE.fullmatch(address)
    return found and Source(found[1], int(found[2]), int(found[3]))


def range_of(address: str) -> tuple[Source, int | None] | None:
    """Return what `TOPIC:PARTITION:OFFSET[-UNTIL]` names, None when it names nothing."""
    found = RANGE.fullmatch(address)
    if found is None:
        return None
    place, until = Source(found[2], int(found[3]), int(found[4])), found[5]
    return place, None if until is None else int(until)


class StoppingRecords:
    """Records by their position.

    Args:
        engine: Of the read side.
        log: Opens a reader of Kafka.
        decide: Writes decisions to the topic that each run reads.
    """

    def __init__(self, engine: Engine, log: OpenLog, decide: Decide) -> None:
        self._engine = engine
        self._log = log
        self._decide = decide

    def listed(self) -> Iterator[Facts]:
        """Yield the records at which projections stopped, by position, without skipped ones."""
        waiting: dict[Source, list[Row[Any]]] = {}
        with snapshot(self._engine) as connection:
            decided = skips.passed_over(connection)
            for row in connection.execute(select(versions.table).order_by("projection")):
                if row.topic is not None:
                    place = Source(row.topic, row.partition, row.offset)
                    waiting.setdefault(place, []).append(row)
        for place, rows in sorted(waiting.items()):
            if not decided.holds(place.topic, place.partition, place.offset):
                yield _facts(place, rows)

    def shown(self, address: str) -> Facts:
        """Return which projections stopped at a position, and why.

        Raises:
            NothingWaitsError: None did.
        """
        found = next((one for one in self.listed() if one["id"] == address), None)
        if found is None:
            raise NothingWaitsError(
                address, "`verdict status` names the projections that are stopped"
            )
        return found

    def skip(self, place: Source, until: int | None, by: OperatorIdentity) -> str:
        """Skip the record, or those that Kafka dropped; return what happens next.

        Raises:
            NothingWaitsError: No projection stopped there.
            VerdictError: The range is empty, or longer than the partition.
            UnreachableError: Kafka does not answer; nothing is decided.
        """
        names: Sequence[str] = self.shown(str(place))["projections"]
        with self._log() as log:
            partition = TopicPartition.of(place)
            kept = log.bounds([partition])[partition]
        end = max(place.offset + 1, kept.start) if until is None else until
        if not place.offset < end <= max(kept.end, place.offset + 1):
            raise VerdictError(
                f"nothing was skipped: {place}-{end} is no range of records: name an offset after "
                f"{place.offset}, up to {kept.end}, where the partition ends"
            )
        made = SkipRecord(
            source=place,
            until_offset=end,
            operator=by.operator,
            reason=by.reason or "",
            decided_at=wall_clock(),
        )
        self._decide([made])
        with self._engine.begin() as connection:
            skips.copy(connection, [made])
        others = "" if end == place.offset + 1 else f" up to {end - 1}"
        return (
            f"{place}{others} is skipped by all that reads the topic. {', '.join(names)} "
            f"{'continue' if len(names) > 1 else 'continues'} at once, or when `verdict up` runs "
            "again. If a skipped record was an event, its aggregate is blocked at that version"
        )


def _facts(place: Source, rows: Sequence[Row[Any]]) -> Facts:
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
