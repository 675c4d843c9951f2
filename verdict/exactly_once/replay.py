"""A batch that Spark has planned and not done is read once more, and Kafka must have it still."""

from verdict.errors import VerdictError
from verdict.exactly_once.checkpoint import CheckpointPosition
from verdict.exactly_once.query import Query
from verdict.kafka.access import Kafka
from verdict.kafka.log import KafkaLog
from verdict.kafka.offsets import at
from verdict.wire.spans import Partition, Span

SHOWN = 3  # partitions


def refuse_what_cannot_be_read_again(
    query: Query, kafka: Kafka, checkpoint: CheckpointPosition
) -> None:
    """Return if Kafka has all that the planned batch reads; Spark would wait for it for minutes.

    Args:
        query: Whose batch it is; what it does not read any more is no matter.
        kafka: Where its inputs are.
        checkpoint: What is planned.

    Raises:
        VerdictError: It lacks some: it has dropped it, lost its end, or a new topic stands in the
            place of the one that had it.
        Unreachable: Kafka does not answer.
    """
    if checkpoint.last is None or checkpoint.committed:
        return
    batch = checkpoint.last
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        places = log.places(query.inputs)
        kept, written = log.bounds(places), log.written(places)
    lacking = [
        _lacking(place, wanted, found)
        for place in places
        if (wanted := Span(at(batch.start, place), at(batch.end, place))).start < wanted.end
        and not _holds(found := Span(kept[place].start, written[place]), wanted)
    ]
    if lacking:
        more = f"; and of {len(lacking) - SHOWN} partitions more" if len(lacking) > SHOWN else ""
        raise VerdictError(
            f"batch {batch.batch_id} of {query.name} was planned and is not done, and Kafka has "
            f"not all of it any more: {'; '.join(lacking[:SHOWN])}{more}. To begin where the "
            f"marker ends, run {query.remedy}"
        )


def _holds(found: Span, wanted: Span) -> bool:
    return found.start <= wanted.start and wanted.end <= found.end


def _lacking(place: Partition, wanted: Span, found: Span) -> str:
    has = f"offsets {found.start} to {found.end - 1}" if found.start < found.end else "nothing"
    return (
        f"it reads {place} from offset {wanted.start} to {wanted.end - 1}, of which Kafka has {has}"
    )
