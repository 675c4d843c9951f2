"""Whether Kafka's log is the one that a progress speaks of, and still has what is read next."""

from collections.abc import Iterable
from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identity, Remembered, require_same_log
from verdict.adapters.kafka.offsets import offsets_at
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.query import Query
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.progress_record import ProgressRecord

SHOWN = 3  # partitions


def log_identity(progress: ProgressRecord, query: Query, kafka: KafkaConfig) -> ProgressRecord:
    """Return `progress` with the ids of Kafka and the query's topics, if it has no others.

    Topics that it did not know are added. What it says of other topics than the query's is kept.
    If it is of another cluster, or a topic was deleted, DifferentLogError is raised.
    """
    found = require_same_log(kafka, [remembered(progress, query)], query.topics)
    return replace(
        progress, cluster_id=found.cluster_id, topic_ids={**progress.topic_ids, **found.topic_ids}
    )


def require_log_of(
    progress_records: Iterable[tuple[Query, ProgressRecord]], kafka: KafkaConfig
) -> None:
    """Raise DifferentLogError if topics are not those that the progress records name."""
    if known := [remembered(progress, query) for query, progress in progress_records]:
        require_same_log(kafka, known)


def remembered(progress: ProgressRecord, query: Query) -> Remembered:
    """Return what `progress` says of the log, as far as the query speaks of it today."""
    ids = {name: one for name, one in progress.topic_ids.items() if name in query.topics}
    return Remembered(
        whose=f"the progress record of {query.name}", ids=Identity(progress.cluster_id, ids)
    )


def check_readable(
    query: Query, kafka: KafkaConfig, progress: ProgressRecord, checkpoint: CheckpointPosition
) -> bool:
    """Return whether Kafka has more than what is read first.

    That is the batch that is planned, or else all after the progress record. If Kafka lacks some of
    it, Spark would wait for minutes; this raises a VerdictError.
    """
    planned = None if checkpoint.committed else checkpoint.last
    start, end = (planned.start, planned.end) if planned else (progress.offsets, progress.offsets)
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        places = log.places(query.inputs)
        kept, written = log.bounds(places), log.written(places)
    lacking = [
        _lacking(place, needed, found)
        for place in places
        for found in [OffsetRange(kept[place].start, written[place])]
        for needed in [OffsetRange(offsets_at(start, place), offsets_at(end, place))]
        if not (found.start <= needed.start and needed.end <= found.end)
    ]
    if lacking:
        more = f"; and of {len(lacking) - SHOWN} partitions more" if len(lacking) > SHOWN else ""
        raise VerdictError(
            f"Kafka does not have all that {query.name} reads next: {'; '.join(lacking[:SHOWN])}"
            f"{more}. Bring the records back; or run {query.remedy}, which begins where the "
            "progress record ends, and says what to do about commands that were dropped before "
            "they were decided"
        )
    return any(kept[place].end > offsets_at(end, place) for place in places)


def _lacking(place: TopicPartition, needed: OffsetRange, found: OffsetRange) -> str:
    end = f"to {needed.end - 1}" if needed.end > needed.start else "on"
    has = f"offsets {found.start} to {found.end - 1}" if found.start < found.end else "nothing"
    return f"it reads {place} from offset {needed.start} {end}, and Kafka has {has}"
