"""Recovery: the decider's state, rebuilt from what it has published.

Spark's checkpoint is disposable: every snapshot follows from the aggregate's events, every
remembered command id from its response. The order of steps makes a recovery that was interrupted
harmless, at any point; run it again.

1. Fence whoever decides, and commit a claim, so that it finds out and stops.
2. Fix the ends of the topics, and write the folded state into the directory of the next
   generation. The current one stays as it is, and is used by the next start if nothing follows.
3. Commit the genesis progress record of the next generation. From here on every start uses its
directory:
   the decider begins with an empty checkpoint at the offsets of the progress record before, and
   its batch 0 takes in the state together with the first commands, committed by Spark as one.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum, auto

from verdict.adapters.sql.time_text import wall_clock
from verdict.service.bootstrap import Runtime
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
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.streaming.exactly_once.fencing import genesis, new_owner, write_progress
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.streaming.exactly_once.query import Query, decider_query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.headers import joined
from verdict.wire.progress_record import ProgressRecord, ShardState
from verdict.wire.records import encode
from verdict.wire.skip_record import Kind, SkipRecord
from verdict.write_side.decider.generation import Generation, generation_of
from verdict.write_side.decider.known_aggregates import (
    decided_aggregates,
    forget_aggregates,
    removed_aggregates,
    require_known_aggregates,
)
from verdict.write_side.processor.stream import shard_keys
from verdict.write_side.recovery.missing import answered_offsets, progress_from_responses
from verdict.write_side.recovery.progress import RecoveredState, RecoveryCounts, Tell, progress_text
from verdict.write_side.recovery.seeding import SeedWriter
from verdict.write_side.state.seed import stamp_of

LOG = logging.getLogger("verdict.recovery")


class RecoveryStep(StrEnum):
    """A moment in a recovery; what is named has just happened."""

    FENCED = auto()  # whoever decided cannot publish any more
    FOLDED = auto()  # the state is on the disk, not yet complete
    SEEDED = auto()  # the state is complete and safe
    COMMITTED = auto()  # the progress record names the new generation


OnRecoveryStep = Callable[[RecoveryStep], None]


def recover(
    ground: Runtime,
    settings: Settings,
    shards: int | None = None,
    tell: Tell = ignore_step,
    on_step: OnRecoveryStep = ignore_step,
    wish: SkipRequest = NO_WISH,
) -> RecoveredState:
    """Rebuild the decider's state; the next start goes on where the progress record ends.

    Raises:
        MissingAggregateError: The application lacks an aggregate that has decided; nothing was
            changed.
        DifferentLogError: The progress record is of another cluster, or of topics that are no more.
        DamagedHistoriesError: Histories of aggregates are damaged; nothing was changed.
        UnusableRecordsError: There are records that verdict did not write; nothing was changed.
        NotPublishedError: Somebody else became the owner meanwhile; nothing was changed.
        UnreachableError, VerdictError: Kafka does not answer, refuses, or has nothing to recover.
    """
    began = time.monotonic()
    wish = replace(wish, at=wish.at or wall_clock())
    if ground.progress is not None:  # before anybody is disturbed
        require_known_aggregates(ground.progress, settings.topics)
    query = decider_query(settings.topics, settings.shards)
    transactions = Transactions(ground.kafka, query.transactional_id)
    try:
        progress, transactions = _claimed(ground, settings, query, transactions)
        on_step(RecoveryStep.FENCED)
        plan, decisions = _decided(ground, settings, progress, wish)
        new = genesis(query, progress, query.of_inputs(plan.offsets), shards or progress.shards)
        new = log_identity(new, query, ground.kafka)
        recovered, made = _seeded(ground, settings, new, (decisions, wish), (tell, on_step))
        new = replace(new, shard_states=_seeded_states(ground, settings, new))
        # with the progress record, as until then the decider goes on with the former state
        made = [*plan.decisions, *made]
        beside = [*_letters(ground, settings, plan), *_on_record(settings, made)]
        transactions = write_progress(transactions, query, ground.kafka, new, beside=beside)
        on_step(RecoveryStep.COMMITTED)
    finally:
        transactions.close()
    return replace(recovered, seconds=time.monotonic() - began)


def recover_outdated(ground: Runtime, settings: Settings, tell: Tell) -> None:
    """Rebuild the state if it is not, or not in the form, that of the application's aggregates.

    Raises:
        VerdictError: As `recover` does.
    """
    if why := _why_outdated(ground, settings):
        LOG.warning("%s: recovering", why)
        LOG.warning("recovered %s", recover(ground, settings, tell=tell))


def _why_outdated(ground: Runtime, settings: Settings) -> str | None:
    progress, topics = ground.progress, settings.topics
    known = set[str]() if progress is None else decided_aggregates(progress, topics)
    if outdated := generation_of(settings.durable_dir, progress).outdated(
        settings.application, known
    ):
        return f"the rules store {', '.join(outdated)} in another format, or it is not stored"
    if progress is None:
        return None
    if lacking := forget_aggregates(progress, topics, ground.kafka):
        return f"the progress record tells nothing of {', '.join(sorted(lacking))}"
    if left := removed_aggregates(progress, topics):
        return f"nobody reads {', '.join(left)} any more, where nothing was decided"
    return None


def _claimed(
    ground: Runtime, settings: Settings, query: Query, transactions: Transactions
) -> tuple[ProgressRecord, Transactions]:
    """Return the progress to go on from, after whoever decided can read that it must stop."""
    progress = readable_progress(ground.kafka, query, wait=True)
    if progress is None:
        lost = progress_from_responses(ground, query, settings.topics, settings.durable_dir)
        return lost, transactions
    require_known_aggregates(
        progress, settings.topics
    )  # a later one than that from before the start
    progress = log_identity(progress, query, ground.kafka)
    claim = replace(progress, owner=f"`verdict recover` {new_owner()}")
    transactions = write_progress(transactions, query, ground.kafka, claim)
    return _knowing(progress, ground, settings, query), transactions


def _knowing(
    progress: ProgressRecord, ground: Runtime, settings: Settings, query: Query
) -> ProgressRecord:
    """Return a progress that also tells of inputs that it does not know, by what was answered."""
    unknown = [topic for topic in query.inputs if topic not in progress.offsets]
    if not unknown:
        return progress
    return replace(
        progress, offsets=progress.offsets | answered_offsets(ground, settings.topics, unknown)
    )


def _decided(
    ground: Runtime, settings: Settings, progress: ProgressRecord, wish: SkipRequest
) -> tuple[SkipPlan, list[SkipRecord]]:
    """Return what is to be done, and all that was ever decided, or is with this run.

    Raises:
        VerdictError: What is asked for cannot be skipped, or Kafka dropped undecided commands.
    """
    topics, kafka = settings.topics, ground.kafka
    names = topics.application.aggregate_types
    folded = [*map(topics.events, names), *map(topics.responses, names)]
    # no recovery needs these: the reactions pass over what others sent, the audit what is rejected
    others = [*topics.inbound, topics.retry, *map(topics.rejected, names)]
    log = read_log(kafka, topics.every_commands(), [*folded, *others])
    before = read_skips(kafka.settings, topics)
    plan = plan_skips(progress.offsets, log, wish, before)
    require_records(kafka, log, wish.places)
    for one in plan.jumped:
        LOG.warning("skipping %s", one)
    return plan, [*before, *plan.decisions]


def _letters(ground: Runtime, settings: Settings, plan: SkipPlan) -> Iterator[OutputRecord]:
    for one in dead_letters_of(ground.kafka, plan, settings.max_command_bytes):
        value, headers = encode(one.letter), joined(one.headers)
        yield OutputRecord(settings.topics.dead_letters, one.letter.key, value, headers)


def _on_record(settings: Settings, decisions: Iterable[SkipRecord]) -> Iterator[OutputRecord]:
    for one in decisions:
        yield OutputRecord(settings.topics.skips, str(one.source).encode(), encode(one))


def _seeded(
    ground: Runtime,
    settings: Settings,
    new: ProgressRecord,
    asked: tuple[list[SkipRecord], SkipRequest],
    observers: tuple[Tell, OnRecoveryStep],
) -> tuple[RecoveredState, list[SkipRecord]]:
    """Write the state with which the generation of `new` begins; return what is decided by it."""
    tell, on_step = observers
    generation = Generation(settings.durable_dir, new.generation)
    generation.clear()
    counts = RecoveryCounts(ground.spark.sparkContext)
    seeding = SeedWriter(ground, settings, new, counts)
    with progress_text(tell, "recovering", counts):
        seeded = seeding.write(*asked)
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


def _seeded_states(ground: Runtime, settings: Settings, new: ProgressRecord) -> list[ShardState]:
    """Return where each shard will stand once it has taken in its seed, read back from the disk."""
    seeds = Generation(settings.durable_dir, new.generation).seeds(FRESH)
    keys = shard_keys(ground.spark, new.shards)
    return [ShardState(*stamp_of(file for key, file in seeds if key == one)) for one in keys]
