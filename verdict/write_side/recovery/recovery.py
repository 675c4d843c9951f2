"""Recovery: rebuilds the decider's state from what it has published.

Spark's checkpoint is disposable: every snapshot follows from the aggregate's events, and every
remembered command id from its response. A recovery can be interrupted at any point without harm:
run it again. Its steps:

1. Fence a running decider, and commit a claim, so that the decider notices it and stops.
2. Fix the ends of the topics, and write the folded state into the directory of the next
   generation. The current generation does not change: the next start uses it if step 3 is missing.
3. Commit the first progress record of the next generation. From here on every start uses its
   directory. The decider begins with an empty checkpoint at the offsets of the former progress
   record. Its batch 0 takes in the state together with the first commands, in one commit of Spark.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum, auto

from verdict.adapters.sql.time_text import wall_clock
from verdict.adapters.storage.folders import durable_dir
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import read_skips
from verdict.streaming.event_log.skips import (
    NO_WISH,
    SkipPlan,
    SkipRequest,
    dead_letters_of,
    plan_skips,
    read_log,
)
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.checkpoint import FRESH
from verdict.streaming.exactly_once.failpoints import ProgressCallback, ignore_step
from verdict.streaming.exactly_once.fencing import genesis, new_owner, write_progress
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import holds_records, readable_progress
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.wire.progress_record import ProgressRecord, ShardState
from verdict.wire.records import encode
from verdict.wire.skip_record import Kind, SkipRecord
from verdict.write_side.decider_query.generation import Generation, generation_of
from verdict.write_side.decider_query.known_aggregates import (
    removed_aggregates,
    require_known_aggregates,
)
from verdict.write_side.processor.spark_plan import shard_keys
from verdict.write_side.recovery.folding import HistoryFold, RecoveryCounts, SeededState
from verdict.write_side.recovery.missing_progress import answered_offsets, progress_from_responses
from verdict.write_side.recovery.seeding import write_seed
from verdict.write_side.state.seed import stamp_of

LOG = logging.getLogger("verdict.recovery")
REPORT_S = 0.5


class RecoveryStep(StrEnum):
    """A step of a recovery that has just been done."""

    FENCED = auto()  # another decider cannot publish any more
    FOLDED = auto()  # the state is on the disk, not yet marked as complete
    SEEDED = auto()  # the state is complete and safe
    COMMITTED = auto()  # the progress record names the new generation


OnRecoveryStep = Callable[[RecoveryStep], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredState:
    """The result of a recovery."""

    generation: int
    shards: int
    events: int
    aggregates: int
    remembered: int
    seconds: float
    quarantined: int
    lifted: int

    def __str__(self) -> str:
        return (
            f"generation {self.generation} with {self.shards} shards: {self.events:,} events of "
            f"{self.aggregates:,} aggregates ({self.quarantined:,} quarantined, {self.lifted:,} "
            f"quarantines lifted), {self.remembered:,} remembered command ids, in "
            f"{self.seconds:.1f} s"
        )


def recover(
    ground: StreamContext,
    settings: Settings,
    shards: int | None = None,
    tell: ProgressCallback = ignore_step,
    on_step: OnRecoveryStep = ignore_step,
    wish: SkipRequest = NO_WISH,
) -> RecoveredState:
    """Rebuild the decider's state; the next start continues at the end of the progress record.

    It raises DamagedHistoriesError, UnusableRecordsError or another VerdictError before anything is
    changed.
    """
    began = time.monotonic()
    wish = replace(wish, at=wish.at or wall_clock())
    if ground.progress is not None:  # before a running decider is fenced
        require_known_aggregates(ground.progress, settings.topics)
    with closing(_Recovery(ground, settings, wish)) as recovery:
        progress = recovery.claim()
        on_step(RecoveryStep.FENCED)
        new = recovery.plan(progress, shards or progress.shards)
        counts = RecoveryCounts(*(ground.spark.sparkContext.accumulator(0) for _ in range(3)))
        with _reporting(tell, counts):
            seeded = recovery.write_seed(new, counts)
        on_step(RecoveryStep.FOLDED)
        states = recovery.complete(new)
        on_step(RecoveryStep.SEEDED)
        recovery.commit(replace(new, shard_states=states), seeded.decisions)
        on_step(RecoveryStep.COMMITTED)
    kinds = Counter(one.kind for one in seeded.decisions)
    return RecoveredState(
        generation=new.generation,
        shards=new.shards,
        events=counts.events.value,
        aggregates=seeded.aggregates,
        remembered=seeded.remembered,
        seconds=time.monotonic() - began,
        quarantined=kinds[Kind.QUARANTINED],
        lifted=kinds[Kind.LIFTED],
    )


def recover_outdated(ground: StreamContext, settings: Settings, tell: ProgressCallback) -> None:
    """Rebuild the state if today's aggregates cannot read it, or if it lacks some of them."""
    if why := _why_outdated(ground, settings):
        LOG.warning("%s: recovering", why)
        LOG.warning("recovered %s", recover(ground, settings, tell=tell))


def _why_outdated(ground: StreamContext, settings: Settings) -> str | None:
    progress, topics = ground.progress, settings.topics
    generation = generation_of(durable_dir(settings), progress)
    if outdated := generation.outdated(settings.application):
        return f"the rules store {', '.join(outdated)} in another format"
    if progress is None:
        return None
    for name in settings.application.aggregate_types:  # of a recovery without it
        is_known = topics.commands(name) in progress.offsets
        if not is_known and holds_records(ground.kafka, (topics.responses(name),)):
            return f"the progress record does not name {name}"
    if left := removed_aggregates(progress, topics):
        return f"{', '.join(left)} is not read any more, and nothing was decided there"
    return None


class _Recovery:
    """The steps of a recovery, in their order."""

    def __init__(self, ground: StreamContext, settings: Settings, wish: SkipRequest) -> None:
        self._ground = ground
        self._settings = settings
        self._topics = settings.topics
        self._wish = wish
        self._query = decider_query(settings.topics, settings.shards)
        self._transactions = Transactions(ground.kafka, self._query.transactional_id)
        self._plan = SkipPlan()
        self._decisions: list[SkipRecord] = []  # of operators, with those of this run

    def close(self) -> None:
        self._transactions.close()

    def claim(self) -> ProgressRecord:
        """Return the progress to continue from; a running decider can read that it must stop."""
        ground, query, topics = self._ground, self._query, self._topics
        progress = readable_progress(ground.kafka, query, wait=True)
        if progress is None:
            return progress_from_responses(ground, query, topics, durable_dir(self._settings))
        require_known_aggregates(progress, topics)  # it may be newer than that of the start
        progress = log_identity(progress, query, ground.kafka)
        self._write(replace(progress, owner=f"`verdict recover` {new_owner()}"))
        if unknown := [topic for topic in query.inputs if topic not in progress.offsets]:
            answered = answered_offsets(ground, topics, unknown)
            progress = replace(progress, offsets=progress.offsets | answered)
        return progress

    def plan(self, progress: ProgressRecord, shards: int) -> ProgressRecord:
        """Return the first progress record of the next generation, after what is skipped."""
        topics, kafka, query = self._topics, self._ground.kafka, self._query
        names = topics.application.aggregate_types
        folded = [*map(topics.events, names), *map(topics.responses, names)]
        # a recovery does not need these: policies skip others' records, the audit rejected commands
        others = [*topics.inbound, topics.retry, *map(topics.rejected, names)]
        log = read_log(kafka, topics.every_commands(), [*folded, *others])
        before = read_skips(kafka.settings, topics)
        self._plan = plan_skips(progress.offsets, log, self._wish, before)
        self._decisions = [*before, *self._plan.decisions]
        for one in self._plan.jumped:
            LOG.warning("skipping %s", one)
        new = genesis(query, progress, query.of_inputs(self._plan.offsets), shards)
        return log_identity(new, query, kafka)

    def write_seed(self, new: ProgressRecord, counts: RecoveryCounts) -> SeededState:
        """Write the state with which the generation of `new` begins."""
        self._generation(new).clear()
        fold = HistoryFold(
            ground=self._ground,
            settings=self._settings,
            new=new,
            decisions=self._decisions,
            counts=counts,
        )
        return write_seed(fold, self._wish)

    def complete(self, new: ProgressRecord) -> list[ShardState]:
        """Mark the seed as whole; return the state of each shard once it has taken in its seed."""
        generation, spark = self._generation(new), self._ground.spark
        generation.complete(self._settings.application)
        seeds = generation.seeds(FRESH)
        keys = shard_keys(spark, new.shards)
        files = [[file for key, file in seeds if key == one] for one in keys]
        stamps = spark.sparkContext.parallelize(files, len(files)).map(stamp_of)
        return [ShardState(*stamp) for stamp in stamps.collect()]

    def commit(self, new: ProgressRecord, made: list[SkipRecord]) -> None:
        """Begin the generation, in one transaction with dead letters and decisions.

        Until then the former state counts.
        """
        self._write(new, self._records(made))

    def _write(self, progress: ProgressRecord, records: Iterable[OutputRecord] = ()) -> None:
        self._transactions = write_progress(
            self._transactions, self._query, self._ground.kafka, progress, extra_records=records
        )

    def _records(self, made: list[SkipRecord]) -> Iterator[OutputRecord]:
        """Yield the dead letters of skipped commands, and the decisions."""
        limit = self._settings.max_command_bytes
        yield from dead_letters_of(self._ground.kafka, self._plan, self._topics, limit)
        for decision in (*self._plan.decisions, *made):
            key = str(decision.source).encode()
            yield OutputRecord(self._topics.skips, key, encode(decision))

    def _generation(self, new: ProgressRecord) -> Generation:
        return Generation(durable_dir(self._settings), new.generation)


@contextmanager
def _reporting(tell: ProgressCallback, counts: RecoveryCounts) -> Iterator[None]:
    """Report the progress of the recovery again and again."""
    done, began = threading.Event(), time.monotonic()

    def report() -> None:
        while not done.wait(REPORT_S):
            tell(f"recovering: {counts}, {time.monotonic() - began:.0f} s")

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        done.set()
        reporter.join()
