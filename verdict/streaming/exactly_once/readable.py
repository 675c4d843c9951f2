"""Whether Kafka still has what a query reads next; Spark would wait for it for minutes."""

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import offsets_at
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.query import Query
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.progress_record import ProgressRecord

SHOWN = 3  # partitions


def check_readable(
    query: Query, kafka: KafkaConfig, progress: ProgressRecord, checkpoint: CheckpointPosition
) -> None:
    """Return if Kafka has the batch that is planned, or else all behind the progress record.

    Raises:
        VerdictError: Kafka has dropped some of it, has lost its end, or has a new topic instead.
        UnreachableError: Kafka does not answer.
    """
    planned = None if checkpoint.committed else checkpoint.last
    start, end = (planned.start, planned.end) if planned else (progress.offsets, progress.offsets)
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        places = log.places(query.inputs)
        kept, written = log.bounds(places), log.written(places)
    lacking = [
        _lacking(place, needed, found)
        for place in places
        if not _holds(
            found := OffsetRange(kept[place].start, written[place]),
            needed := OffsetRange(offsets_at(start, place), offsets_at(end, place)),
        )
    ]
    if lacking:
        more = f"; and of {len(lacking) - SHOWN} partitions more" if len(lacking) > SHOWN else ""
        raise VerdictError(
            f"Kafka does not have all that {query.name} reads next: {'; '.join(lacking[:SHOWN])}"
            f"{more}. Bring the records back; or run {query.remedy}, which begins where the "
            f"progress record "
            "ends, and says what to do about commands that were dropped before they were decided"
        )


def _holds(found: OffsetRange, needed: OffsetRange) -> bool:
    return found.start <= needed.start and needed.end <= found.end


def _lacking(place: TopicPartition, needed: OffsetRange, found: OffsetRange) -> str:
    end = f"to {needed.end - 1}" if needed.end > needed.start else "on"
    has = f"offsets {found.start} to {found.end - 1}" if found.start < found.end else "nothing"
    return f"it reads {place} from offset {needed.start} {end}, and Kafka has {has}"
