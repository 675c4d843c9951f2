"""From topics to a seed: what Kafka has; if histories are damaged, also all that the archive has.

Compaction takes events out of the middle, which shows only when histories are folded; so the whole
archive is read only then. Who is still damaged is quarantined, if an operator said so.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from verdict.errors import UnreachableError, VerdictError
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import skipped_ranges
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.queries.source import StreamContext
from verdict.wire.partitions import OffsetRange, Spans
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.skip_record import Kind, SkipRecord, active_quarantines
from verdict.write_side.decider.generation import Generation
from verdict.write_side.decider.running import limits_of
from verdict.write_side.recovery.archived import require_archived, write_archived
from verdict.write_side.recovery.bounds import bounds_of
from verdict.write_side.recovery.folding import HistoryFold, SeededState
from verdict.write_side.recovery.missing import unanswered
from verdict.write_side.recovery.outcomes import Unanswered
from verdict.write_side.recovery.progress import RecoveryCounts

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
        shown = "; ".join(_in_words(one) for one in damaged[:NAMED])
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
    """Writes the state with which a generation begins; what is read ends where it is made.

    Args:
        ground: Reads Kafka.
        settings: Of the deployment.
        new: The progress record of the generation.
        counts: Take in how far the workers have come.
    """

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
        self._generation = Generation(settings.durable_dir, new.generation)
        self._without_archive = ""

    def write(self, decisions: Sequence[SkipRecord], wish: SkipRequest) -> SeededState:
        """Write the seed.

        Raises:
            UnusableRecordsError: A record belongs to no history; names the first.
            DamagedHistoriesError: Histories are damaged, and nobody said to go on without them.
            VerdictError: Nobody can tell which histories are damaged.
            UnreachableError: Kafka does not answer.
        """
        dropped = {place: OffsetRange(0, kept.start) for place, kept in self._events.items()}
        if self._has_dropped_responses:
            require_archived(self._settings, dropped)
        seeded = self._folded(decisions, dropped)
        quarantines = active_quarantines(decisions)
        if quarantines or _damaged(seeded):
            LOG.warning("histories are damaged: folding again, with all that the archive has")
            self._counts.begin_anew()
            whole = {place: OffsetRange(0, kept.end) for place, kept in self._events.items()}
            lacking = unanswered(self._ground, self._settings.topics, self._new.offsets)
            seeded = self._folded(decisions, whole, lacking)
        made = [self._completed(one, decisions, wish) for one in seeded.decisions]
        if missing := [one for one in made if not one.operator]:
            raise DamagedHistoriesError(missing, self._without_archive)
        for one in made[:NAMED]:
            LOG.warning("%s %s", one.kind.lower(), one.aggregate)
        return seeded._replace(decisions=made)

    @property
    def _has_dropped_responses(self) -> bool:
        return any(kept.start for place, kept in self._bounds.items() if place not in self._events)

    def _completed(
        self, made: SkipRecord, decisions: Sequence[SkipRecord], wish: SkipRequest
    ) -> SkipRecord:
        """Return a decision with the operator who makes it; without one if there is none.

        Who skipped an event has quarantined its aggregate. Nobody needs to lift a quarantine.
        """
        assert made.aggregate is not None
        if made.kind is Kind.LIFTED:
            return replace(
                made, operator=wish.operator or "verdict", reason=BY_ITSELF, decided_at=wish.at
            )
        known = active_quarantines(decisions).get(made.aggregate.key)
        skips = (one for one in decisions if skipped_ranges([one]).holds(*_place(made)))
        if wish.quarantine:
            return replace(made, operator=wish.operator, reason=wish.reason, decided_at=wish.at)
        if by := known or next(skips, None):
            return replace(made, operator=by.operator, reason=by.reason, decided_at=by.decided_at)
        return made

    def _folded(
        self, decisions: Sequence[SkipRecord], archived: Spans, lacking: Unanswered | None = None
    ) -> SeededState:
        file = self._generation.folder / "archived.parquet"
        folding = HistoryFold(
            self._ground,
            self._settings.topics,
            limits_of(self._settings),
            self._counts.taken,
            self._new.offsets,
            skipped_ranges(decisions),
        )
        shards, folder = self._new.shards, self._generation.seed
        try:
            laid = self._laid(archived, file)
            seeded = folding.write(
                self._bounds, shards, folder, active_quarantines(decisions), laid, lacking
            )
        finally:
            file.unlink(missing_ok=True)
        if seeded.faults[0]:
            raise UnusableRecordsError(*seeded.faults)
        return seeded

    def _laid(self, spans: Spans, file: Path) -> Path | None:
        try:
            return write_archived(self._settings, spans, file)
        except UnreachableError as error:
            LOG.warning("there is no archive: %s", error)
            self._without_archive = str(error)
            return None


def _damaged(seeded: SeededState) -> bool:
    return any(one.kind is Kind.QUARANTINED for one in seeded.decisions)


def _place(decision: SkipRecord) -> tuple[str, int, int]:
    source = decision.source
    return source.topic, source.partition, source.offset


def _in_words(decision: SkipRecord) -> str:
    of = decision.aggregate
    assert of is not None
    return f"{of} (at {decision.source}): {of.error}"
