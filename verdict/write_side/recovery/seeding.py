"""From topics to a seed: all that Kafka has, and if histories are damaged, the whole archive too.

Compaction removes events in the middle, and only the fold finds that. So the whole archive is read
only after a fold has found damage. What is still damaged is quarantined if an operator asked for
it. The hash of each archived row is checked, and the fold checks the chain of hashes: so it refuses
the archive of another log.
"""

import logging
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path

from verdict.adapters.sql.readers.reader import open_reader
from verdict.adapters.storage.folders import durable_dir
from verdict.errors import UnreachableError, VerdictError
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.parquet import write_parquet
from verdict.streaming.event_log.skip_log import skipped_ranges
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.wire.partitions import OffsetRange, Spans
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.skip_record import Kind, SkipRecord, active_quarantines
from verdict.write_side.decider_query.decider_query import limits_of
from verdict.write_side.decider_query.generation import Generation
from verdict.write_side.recovery.folding import HistoryFold, SeededState, bounds_of
from verdict.write_side.recovery.missing_progress import unanswered
from verdict.write_side.recovery.outcomes import Unanswered
from verdict.write_side.recovery.tasks import RecoveryCounts

LOG = logging.getLogger("verdict.recovery")
NAMED = 12  # aggregates in a message
BY_ITSELF = "its history is whole again"


class UnusableRecordsError(VerdictError):
    """Records that belong to no history of an aggregate keep the state from being folded."""

    def __init__(self, count: int, shown: Sequence[str]) -> None:
        super().__init__(
            f"{count} records cannot be used: {'; '.join(shown)}; the state was not changed: find "
            "out who wrote to these topics, then skip what verdict did not write, or what is "
            "beyond repair, with `verdict skip TOPIC:PARTITION:OFFSET --reason …`"
        )


class DamagedHistoriesError(VerdictError):
    """The events of aggregates are missing, altered or cannot be folded."""

    def __init__(self, damaged: Sequence[SkipRecord], without_archive: str = "") -> None:
        shown = "; ".join(
            f"{one.aggregate} (at {one.source}): {one.aggregate.error}"
            for one in damaged[:NAMED]
            if one.aggregate is not None
        )
        more = f"; and {len(damaged) - NAMED} more" if len(damaged) > NAMED else ""
        archive = f" (without the archive: {without_archive})" if without_archive else ""
        super().__init__(
            f"the histories of {len(damaged)} aggregates are damaged{archive}: {shown}{more}. The "
            "state was not changed. Bring the events back, from a backup of the topic or with the "
            "database that has archived them (--database-url), and recover again. To go on without "
            "these aggregates: `verdict recover --quarantine --reason …` rejects their commands "
            "until a later recovery finds their events"
        )


class SeedWriter:
    """Writes the state with which a generation begins, from what Kafka has at its creation."""

    def __init__(
        self, ground: StreamContext, settings: Settings, new: ProgressRecord, counts: RecoveryCounts
    ) -> None:
        topics, names = settings.topics, settings.application.aggregate_types
        events = [*map(topics.events, names)]
        self._bounds = bounds_of(ground.kafka, [*events, *map(topics.responses, names)])
        self._events = {place: one for place, one in self._bounds.items() if place.topic in events}
        self._ground = ground
        self._settings = settings
        self._new = new
        self._counts = counts
        self._generation = Generation(durable_dir(settings), new.generation)
        self._without_archive = ""

    def write(self, decisions: Sequence[SkipRecord], wish: SkipRequest) -> SeededState:
        """Write the seed.

        Raises:
            UnusableRecordsError: Records belong to no history; names the first ones.
            DamagedHistoriesError: Histories are damaged, and no operator asked to continue.
            VerdictError: It cannot be found out which histories are damaged.
        """
        dropped = {place: OffsetRange(0, kept.start) for place, kept in self._events.items()}
        if any(kept.start for place, kept in self._bounds.items() if place not in self._events):
            _require_archived(self._settings, dropped)
        seeded = self._folded(decisions, dropped)
        quarantines = active_quarantines(decisions)
        if quarantines or any(one.kind is Kind.QUARANTINED for one in seeded.decisions):
            LOG.warning("histories are damaged: folding again, with all that the archive has")
            self._counts.reset()
            whole = {place: OffsetRange(0, kept.end) for place, kept in self._events.items()}
            lacking = unanswered(self._ground, self._settings.topics, self._new.offsets)
            seeded = self._folded(decisions, whole, lacking)
        made = [self._completed(one, decisions, wish) for one in seeded.decisions]
        if missing := [one for one in made if not one.operator]:
            raise DamagedHistoriesError(missing, self._without_archive)
        for one in made[:NAMED]:
            LOG.warning("%s %s", one.kind.lower(), one.aggregate)
        return seeded._replace(decisions=made)

    def _completed(
        self, made: SkipRecord, decisions: Sequence[SkipRecord], wish: SkipRequest
    ) -> SkipRecord:
        """Return the decision with the operator who made it, if there is one.

        A skip of an event quarantines its aggregate. A quarantine is lifted without an operator.
        """
        assert made.aggregate is not None
        if made.kind is Kind.LIFTED:
            return replace(
                made, operator=wish.operator or "verdict", reason=BY_ITSELF, decided_at=wish.at
            )
        known = active_quarantines(decisions).get(made.aggregate.key)
        skips = (one for one in decisions if skipped_ranges([one]).holds(*astuple(made.source)))
        if wish.quarantine:
            return replace(made, operator=wish.operator, reason=wish.reason, decided_at=wish.at)
        if by := known or next(skips, None):
            return replace(made, operator=by.operator, reason=by.reason, decided_at=by.decided_at)
        return made

    def _folded(
        self, decisions: Sequence[SkipRecord], archived: Spans, lacking: Unanswered | None = None
    ) -> SeededState:
        file = self._generation.folder / "archived.parquet"
        fold = HistoryFold(
            ground=self._ground,
            topics=self._settings.topics,
            limits=limits_of(self._settings),
            taken=self._counts.taken,
            decided=self._new.offsets,
            skipped=skipped_ranges(decisions),
            bounds=self._bounds,
        )
        shards, folder = self._new.shards, self._generation.seed
        quarantines = active_quarantines(decisions)
        try:
            has_archive = self._write_archived(archived, file)
            seeded = fold.write(shards, folder, quarantines, file if has_archive else None, lacking)
        finally:
            file.unlink(missing_ok=True)
        if seeded.faults[0]:
            raise UnusableRecordsError(*seeded.faults)
        return seeded

    def _write_archived(self, spans: Spans, file: Path) -> bool:
        """Write the archived events in `spans` into `file`; return False if there are none."""
        if not any(span.end > span.start for span in spans.values()):
            return False
        try:
            with open_reader(self._settings) as reader:
                archive = Archive(reader)
                rows = (
                    row
                    for place, span in spans.items()
                    for row in archive.rows(*place, span.start, span.end)
                )
                write_parquet((row.record() for row in rows), file)
        except UnreachableError as error:
            LOG.warning("there is no archive: %s", error)
            self._without_archive = str(error)
            return False
        return True


def _require_archived(settings: Settings, dropped: Spans) -> None:
    """Raise unless the archive has all events in these spans, which Kafka has dropped.

    Kafka has dropped responses too, so it cannot be found out whose events are missing. Such an
    aggregate might begin again at version 0.
    """
    needed = {place: span.end for place, span in dropped.items() if span.end > span.start}
    if not needed:
        return
    with open_reader(settings) as reader:
        reached = Archive(reader).standing().reached
    if lacking := [f"{p} up to {end}" for p, end in needed.items() if reached.get(p, 0) < end]:
        raise VerdictError(
            f"Kafka dropped events that the archive does not have ({', '.join(lacking)}), and "
            "responses, which would show whose they are. The state was not changed: bring "
            "back the topics of events or of responses from a backup, or name the database that "
            "has archived the events with --database-url"
        )
