"""A query without state that has lost its progress record starts again, by an operator's decision.

Policies start at the ends of their topics: nothing is sent twice, and what had no consequence yet
gets none. The lake starts at the first records, because files can be written again.
"""

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import Offsets, ends, offsets_text, starts
from verdict.adapters.kafka.reader import KafkaLog
from verdict.model.source import Source
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.fencing import genesis, write_progress
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.streaming.exactly_once.query import OWNER, Query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.streaming.exactly_once.topic_owner import claim_topics
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import encode
from verdict.wire.skip_record import Kind, SkipRecord
from verdict.wire.topics import Topics


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
        decided = encode(_decision(kafka, query.progress_topic, reason, wish))
        record = OutputRecord(topics.skips, query.key, decided)
        transactions = write_progress(transactions, query, kafka, new, extra_records=[record])
    finally:
        transactions.close()
    return new


def begin_as_owner(kafka: KafkaConfig, topics: Topics, wish: SkipRequest) -> None:
    """Claim the topics for this deployment, together with the operator's decision."""
    reason = f"the topics are those of {topics.deployment}: {wish.reason}"
    decided = encode(_decision(kafka, topics.owners, reason, wish))
    claim_topics(topics, kafka, [OutputRecord(topics.skips, OWNER.encode(), decided)])


def _offsets(query: Query, kafka: KafkaConfig, at_the_ends: bool) -> Offsets:
    with KafkaLog(kafka.settings, 2 * kafka.transaction_timeout_s) as log:
        places = log.places(query.inputs)
        log.await_settled(places, f"{query.name} cannot start again")
        kept = log.bounds(places)
    return ends(kept) if at_the_ends else starts(kept)


def _decision(
    kafka: KafkaConfig, progress_topic: str, reason: str, wish: SkipRequest
) -> SkipRecord:
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        [(place, end)] = log.written(log.places([progress_topic])[:1]).items()
    return SkipRecord(
        source=Source(*place, end),
        until_offset=end + 1,
        operator=wish.operator,
        reason=reason,
        decided_at=wish.at,
        kind=Kind.ACCEPTED,
    )
