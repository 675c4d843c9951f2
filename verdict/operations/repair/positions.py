"""How far the topics were read, as progress records and the database say; and corrections of that.

Positions are corrected after lost events were appended again. A query without state that has lost
its progress record starts again, by an operator's decision: policies at the ends of their topics,
so nothing is sent twice, and what had no consequence yet gets none; the lake at the first records,
because files can be written again.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import (
    Offsets,
    TopicOffsets,
    each_partition,
    ends,
    offsets_text,
    starts,
)
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.model.source import Source
from verdict.reactions.lake.table import LakeFolder, LakeSpan, position
from verdict.read_side.tables.lost_events import Restoration
from verdict.read_side.tables.same_log import FilledFrom, filled_from
from verdict.service.queries import queries_of
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.streaming.exactly_once.fencing import claim, genesis, write_progress
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.streaming.exactly_once.query import LAKE, OWNER, Query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.streaming.exactly_once.topic_owner import claim_topics
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.partitions import TopicPartition
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import encode
from verdict.wire.skip_record import Kind
from verdict.wire.topics import Topics

LOG = logging.getLogger("verdict.recovery")

Restorations = Mapping[TopicPartition, Restoration]


@dataclass(frozen=True, slots=True)
class ReadPositions:
    """What is known of topics apart from the topics themselves."""

    progress_records: Sequence[tuple[Query, ProgressRecord]]
    read_side: FilledFrom

    def topic_ids(self, cluster_id: str | None) -> Mapping[str, set[str]]:
        """Return the ids that each topic of a cluster had; several after an interrupted change."""
        every: list[Mapping[str, str]] = [
            one.topic_ids for _, one in self.progress_records if one.cluster_id == cluster_id
        ]
        if self.read_side.noted.clusters == {cluster_id}:
            every.append(self.read_side.noted.topic_ids)
        known = defaultdict[str, set[str]](set)
        for name, topic_id in (pair for ids in every for pair in ids.items()):
            known[name].add(topic_id)
        return known

    def reached(self) -> dict[TopicPartition, int]:
        """Return the greatest next offset of each partition."""
        reached = dict(self.read_side.reached)
        for _, progress in self.progress_records:
            for place, offset in each_partition(progress.read):
                reached[place] = max(reached.get(place, 0), offset)
        return reached


def read_positions(settings: Settings, kafka: KafkaConfig) -> ReadPositions:
    """Return the progress records that can be read, and what the database says."""
    found = ((query, readable_progress(kafka, query, wait=True)) for query in queries_of(settings))
    progress_records = [(query, progress) for query, progress in found if progress is not None]
    return ReadPositions(progress_records, filled_from(settings))


def correct_progress(
    settings: Settings, kafka: KafkaConfig, query: Query, restored: Restorations
) -> None:
    """Let policies, or the lake, go on at the first event that they have not read."""
    progress = readable_progress(kafka, query, wait=True)
    if progress is None:
        return
    offsets, left = _moved(progress.offsets, restored), _moved(progress.left, restored)
    if progress == (corrected := replace(progress, offsets=offsets, left=left)):
        return
    again = [
        str(place)
        for place, one in restored.items()
        if place.topic in query.inputs and not one.is_in_order
    ]
    if again:
        LOG.warning(
            "%s reads events of %s a second time, as others were appended after the loss",
            query.name, ", ".join(again),
        )  # fmt: skip
    if query.name == LAKE:
        _continue_lake(settings, position(progress.offsets), position(corrected.offsets))
    claim(query, kafka, lambda: corrected).close()


def _moved(offsets: TopicOffsets, restored: Restorations) -> Offsets:
    moved = {}
    for topic, of in offsets.items():
        found = (restored.get(TopicPartition(topic, number)) for number in range(len(of)))
        pairs = zip(of, found, strict=True)
        moved[topic] = [at if one is None else one.position(at) for at, one in pairs]
    return moved


def _continue_lake(settings: Settings, before: int, after: int) -> None:
    """Put an empty batch into the lake that bridges the two positions.

    Where the lake is on another machine, or goes back, its next start says what to do.
    """
    folder, rows = settings.lake_folder, settings.application.lake
    if rows is None or after <= before or not (folder / rows.name).exists():
        return
    with DataDirectoryLock(folder, "lake", "lake_dir"):
        table = LakeFolder(folder / rows.name, folder / "staging")
        table.put(table.staged(), LakeSpan(before, after), partial(ignore_step, None))


def begin_without_progress(
    query: Query, kafka: KafkaConfig, topics: Topics, wish: SkipRequest, *, at_the_ends: bool
) -> ProgressRecord:
    """Fence the owner; write progress and, in the same transaction, the operator's decision."""
    transactions = Transactions(kafka, query.transactional_id)
    try:
        former = readable_progress(kafka, query, wait=True)
        new = genesis(query, former, _offsets(query, kafka, at_the_ends), query.first_shards)
        new = log_identity(new, query, kafka)
        reason = f"{query.name} starts again at {offsets_text(new.offsets)}: {wish.reason}"
        decided = _decision(kafka, query.progress_topic, replace(wish, reason=reason))
        record = OutputRecord(topics.skips, query.key, decided)
        transactions = write_progress(transactions, query, kafka, new, extra_records=[record])
    finally:
        transactions.close()
    return new


def begin_as_owner(kafka: KafkaConfig, topics: Topics, wish: SkipRequest) -> None:
    """Claim the topics for this deployment, together with the operator's decision."""
    reason = f"the topics are those of {topics.deployment}: {wish.reason}"
    decided = _decision(kafka, topics.owners, replace(wish, reason=reason))
    claim_topics(topics, kafka, [OutputRecord(topics.skips, OWNER.encode(), decided)])


def _offsets(query: Query, kafka: KafkaConfig, at_the_ends: bool) -> Offsets:
    with KafkaLog(kafka.settings, 2 * kafka.transaction_timeout_s) as log:
        places = log.places(query.inputs)
        log.await_settled(places, f"{query.name} cannot start again")
        kept = log.bounds(places)
    return ends(kept) if at_the_ends else starts(kept)


def _decision(kafka: KafkaConfig, progress_topic: str, wish: SkipRequest) -> bytes:
    """Return the decision as a record; it is about the end of the progress topic."""
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        [(place, end)] = log.written(log.places([progress_topic])[:1]).items()
    return encode(wish.record(Source(*place, end), end + 1, Kind.ACCEPTED))
