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
from verdict.streaming.event_log.record import write_parquet
from verdict.streaming.event_log.skip_log import skipped_ranges
from verdict.streaming.event_log.skips import SkipRequest
from verdict.wire.partitions import OffsetRange, Spans
from verdict.wire.skip_record import Kind, SkipRecord, active_quarantines
from verdict.write_side.decider_query.generation import Generation
from verdict.write_side.recovery.folding import HistoryFold, SeededState
from verdict.write_side.recovery.histories import Unanswered
from verdict.write_side.recovery.missing_progress import unanswered

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


def write_seed(fold: HistoryFold, wish: SkipRequest) -> SeededState:
    """Write the state with which a generation begins, from what Kafka has at its creation.

    DamagedHistoriesError: histories are damaged, and no operator asked to continue without them.
    """
    events = fold.events
    dropped = {place: OffsetRange(0, kept.start) for place, kept in events.items()}
    if any(kept.start for place, kept in fold.bounds.items() if place not in events):
        _require_archived(fold.settings, dropped)
    seeded, without_archive = _fold(fold, dropped)
    is_damaged = any(one.kind is Kind.QUARANTINED for one in seeded.decisions)
    if is_damaged or active_quarantines(fold.decisions):
        LOG.warning("histories are damaged: folding again, with all that the archive has")
        for count in fold.counts:
            count.value = 0
        whole = {place: OffsetRange(0, kept.end) for place, kept in events.items()}
        lacking = unanswered(fold.ground, fold.settings.topics, fold.new.offsets)
        seeded, without_archive = _fold(fold, whole, lacking)
    made = [_completed(one, fold.decisions, wish) for one in seeded.decisions]
    if missing := [one for one in made if not one.operator]:
        raise DamagedHistoriesError(missing, without_archive)
    for one in made[:NAMED]:
        LOG.warning("%s %s", one.kind.lower(), one.aggregate)
    return seeded._replace(decisions=made)


def _fold(
    fold: HistoryFold, archived: Spans, lacking: Unanswered | None = None
) -> tuple[SeededState, str]:
    """Fold, with the archived events in `archived`; return why there is no archive, too."""
    generation = Generation(durable_dir(fold.settings), fold.new.generation)
    file, without_archive = generation.folder / "archived.parquet", ""
    try:
        try:
            has_archive = _write_archived(fold.settings, archived, file)
        except UnreachableError as error:
            LOG.warning("there is no archive: %s", error)
            has_archive, without_archive = False, str(error)
        seeded = fold.write(generation.seed, file if has_archive else None, lacking)
    finally:
        file.unlink(missing_ok=True)
    if seeded.faults:
        raise UnusableRecordsError(seeded.faults, seeded.shown)
    return seeded, without_archive


def _write_archived(settings: Settings, spans: Spans, file: Path) -> bool:
    """Write the archived events in `spans` into `file`; return False if there are none."""
    if not any(span.end > span.start for span in spans.values()):
        return False
    with open_reader(settings) as reader:
        archive = Archive(reader)
        rows = (
            row
            for place, span in spans.items()
            for row in archive.rows(*place, span.start, span.end)
        )
        write_parquet((row.record() for row in rows), file)
    return True


def _completed(made: SkipRecord, decisions: Sequence[SkipRecord], wish: SkipRequest) -> SkipRecord:
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
