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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
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
    require_records,
)
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.checkpoint import FRESH
from verdict.streaming.exactly_once.failpoints import ProgressCallback, ignore_step
from verdict.streaming.exactly_once.fencing import genesis, new_owner, write_progress
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.streaming.exactly_once.query import Query, decider_query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.wire.headers import joined
from verdict.wire.progress_record import ProgressRecord, ShardState
from verdict.wire.records import encode
from verdict.wire.skip_record import Kind, SkipRecord
from verdict.write_side.decider_query.generation import Generation, generation_of
from verdict.write_side.decider_query.known_aggregates import (
    decided_aggregates,
    forget_aggregates,
    removed_aggregates,
    require_known_aggregates,
)
from verdict.write_side.processor.spark_plan import shard_keys
from verdict.write_side.recovery.missing_progress import answered_offsets, progress_from_responses
from verdict.write_side.recovery.seeding import SeedWriter
from verdict.write_side.recovery.tasks import RecoveryCounts
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
    quarantined: int = 0
    lifted: int = 0

    def facts(self) -> dict[str, int | float]:
        """Return all fields, for programs."""
        return asdict(self)

    def __str__(self) -> str:
        quarantines = ""
        if self.quarantined or self.lifted:
            quarantines = (
                f"{self.quarantined:,} quarantined and {self.lifted:,} quarantines lifted, "
            )
        return (
            f"generation {self.generation} with {self.shards} shards: {self.events:,} events of "
            f"{self.aggregates:,} aggregates, {self.remembered:,} remembered command ids, "
            f"{quarantines}in {self.seconds:.1f} s"
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

    Raises:
        MissingAggregateError: The application lacks an aggregate that has decided; nothing was
            changed.
        DifferentLogError: The progress record is of another cluster, or of deleted topics.
        DamagedHistoriesError: Histories of aggregates are damaged; nothing was changed.
        UnusableRecordsError: There are records that verdict did not write; nothing was changed.
        NotPublishedError: Another process became the owner meanwhile; nothing was changed.
        UnreachableError, VerdictError: Kafka does not answer, refuses, or has nothing to recover.
    """
    began = time.monotonic()
    wish = replace(wish, at=wish.at or wall_clock())
    if ground.progress is not None:  # before a running decider is fenced
        require_known_aggregates(ground.progress, settings.topics)
    query = decider_query(settings.topics, settings.shards)
    transactions = Transactions(ground.kafka, query.transactional_id)
    try:
        progress, transactions = _claimed(ground, settings, query, transactions)
        on_step(RecoveryStep.FENCED)
        plan, decisions = _skips(ground, settings, progress, wish)
        new = genesis(query, progress, query.of_inputs(plan.offsets), shards or progress.shards)
        new = log_identity(new, query, ground.kafka)
        recovered, made = _seeded(ground, settings, new, (decisions, wish), (tell, on_step))
        new = replace(new, shard_states=_seeded_states(ground, settings, new))
        # in one transaction with the progress record: until then the former state counts
        records = _records(ground, settings, plan, made)
        transactions = write_progress(transactions, query, ground.kafka, new, extra_records=records)
        on_step(RecoveryStep.COMMITTED)
    finally:
        transactions.close()
    return replace(recovered, seconds=time.monotonic() - began)


def recover_outdated(ground: StreamContext, settings: Settings, tell: ProgressCallback) -> None:
    """Rebuild the state if today's aggregates cannot read it, or if it lacks some of them."""
    if why := _why_outdated(ground, settings):
        LOG.warning("%s: recovering", why)
        LOG.warning("recovered %s", recover(ground, settings, tell=tell))


def _why_outdated(ground: StreamContext, settings: Settings) -> str | None:
    progress, topics = ground.progress, settings.topics
    known = set[str]() if progress is None else decided_aggregates(progress, topics)
    if outdated := generation_of(durable_dir(settings), progress).outdated(
        settings.application, known
    ):
        return f"the rules store {', '.join(outdated)} in another format, or it is not stored"
    if progress is None:
        return None
    if lacking := forget_aggregates(progress, topics, ground.kafka):
        return f"the progress record does not name {', '.join(sorted(lacking))}"
    if left := removed_aggregates(progress, topics):
        return f"{', '.join(left)} is not read any more, and nothing was decided there"
    return None


def _claimed(
    ground: StreamContext, settings: Settings, query: Query, transactions: Transactions
) -> tuple[ProgressRecord, Transactions]:
    """Return the progress to continue from, once a running decider can read that it must stop."""
    progress = readable_progress(ground.kafka, query, wait=True)
    if progress is None:
        lost = progress_from_responses(ground, query, settings.topics, durable_dir(settings))
        return lost, transactions
    require_known_aggregates(progress, settings.topics)  # it may be newer than that of the start
    progress = log_identity(progress, query, ground.kafka)
    claim = replace(progress, owner=f"`verdict recover` {new_owner()}")
    transactions = write_progress(transactions, query, ground.kafka, claim)
    if unknown := [topic for topic in query.inputs if topic not in progress.offsets]:
        answered = answered_offsets(ground, settings.topics, unknown)
        progress = replace(progress, offsets=progress.offsets | answered)
    return progress, transactions


def _skips(
    ground: StreamContext, settings: Settings, progress: ProgressRecord, wish: SkipRequest
) -> tuple[SkipPlan, list[SkipRecord]]:
    """Return the skips of this run, and all decisions so far with those of this run."""
    topics, kafka = settings.topics, ground.kafka
    names = topics.application.aggregate_types
    folded = [*map(topics.events, names), *map(topics.responses, names)]
    # a recovery does not need these: policies skip records of others, the audit rejected commands
    others = [*topics.inbound, topics.retry, *map(topics.rejected, names)]
    log = read_log(kafka, topics.every_commands(), [*folded, *others])
    before = read_skips(kafka.settings, topics)
    plan = plan_skips(progress.offsets, log, wish, before)
    require_records(kafka, log, wish.places)
    for one in plan.jumped:
        LOG.warning("skipping %s", one)
    return plan, [*before, *plan.decisions]


def _records(
    ground: StreamContext, settings: Settings, plan: SkipPlan, made: list[SkipRecord]
) -> Iterator[OutputRecord]:
    """Yield the dead letters of skipped commands, and the decisions."""
    topics = settings.topics
    for one in dead_letters_of(ground.kafka, plan, settings.max_command_bytes):
        value, headers = encode(one.letter), joined(one.headers)
        yield OutputRecord(topics.dead_letters, one.letter.key, value, headers)
    for decision in (*plan.decisions, *made):
        yield OutputRecord(topics.skips, str(decision.source).encode(), encode(decision))


def _seeded(
    ground: StreamContext,
    settings: Settings,
    new: ProgressRecord,
    asked: tuple[list[SkipRecord], SkipRequest],
    observers: tuple[ProgressCallback, OnRecoveryStep],
) -> tuple[RecoveredState, list[SkipRecord]]:
    """Write the state with which the generation of `new` begins; return the decisions in it too."""
    tell, on_step = observers
    generation = Generation(durable_dir(settings), new.generation)
    generation.clear()
    counts = RecoveryCounts(ground.spark.sparkContext)
    writer = SeedWriter(ground, settings, new, counts)
    with _reporting(tell, counts):
        seeded = writer.write(*asked)
    on_step(RecoveryStep.FOLDED)
    generation.complete(
        settings.application, aggregates=seeded.aggregates, remembered=seeded.remembered
    )
    on_step(RecoveryStep.SEEDED)
    kinds = Counter(one.kind for one in seeded.decisions)
    recovered = RecoveredState(
        generation=new.generation,
        shards=new.shards,
        events=counts.taken.events.value,
        aggregates=seeded.aggregates,
        remembered=seeded.remembered,
        seconds=0.0,
        quarantined=kinds[Kind.QUARANTINED],
        lifted=kinds[Kind.LIFTED],
    )
    return recovered, seeded.decisions


def _seeded_states(
    ground: StreamContext, settings: Settings, new: ProgressRecord
) -> list[ShardState]:
    """Return the state of each shard once it has taken in its seed, which the workers read back."""
    seeds = Generation(durable_dir(settings), new.generation).seeds(FRESH)
    keys = shard_keys(ground.spark, new.shards)
    files = [[file for key, file in seeds if key == one] for one in keys]
    stamps = ground.spark.sparkContext.parallelize(files, len(files)).map(stamp_of)
    return [ShardState(*stamp) for stamp in stamps.collect()]


@contextmanager
def _reporting(tell: ProgressCallback, counts: RecoveryCounts) -> Iterator[None]:
    """Report the progress of the recovery, and the time it has taken, again and again."""
    done, began = threading.Event(), time.monotonic()

    def report() -> None:
        while True:
            tell(f"recovering: {counts}, {time.monotonic() - began:.0f} s")
            if done.wait(REPORT_S):
                return

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        done.set()
        reporter.join()
