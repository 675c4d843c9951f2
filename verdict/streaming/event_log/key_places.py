"""In which partition the records of a key lie, though somebody may have added partitions since."""

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topic_drift import as_begun
from verdict.errors import UnreachableError, VerdictError
from verdict.streaming.event_log.skip_log import accepted_in, accepted_partitions
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import decode_progress
from verdict.wire.partitions import TopicPartition, partition_of
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.topics import Topics


def record_of_key(log: KafkaLog, topics: Topics, topic: str, key: bytes) -> TopicPartition:
    """Return the partition of a topic of the deployment in which a key's records lie.

    What verdict writes stays in the first partitions; commands go to all that there are.

    Raises:
        UnreachableError, VerdictError: As for `KafkaLog.places`.
    """
    count = len(log.places([topic]))
    if topic in topics.outputs() and count != topics.partitions:
        # somebody added some, or the setting is not that of the service
        progress = _progress(log, topics)
        decided = progress.offsets if progress else {}
        begun = as_begun(topics, decided, accepted_partitions(accepted_in(log, topics)))
        count = min(count, begun.partitions)
    return TopicPartition(topic, partition_of(key, count))


def _progress(log: KafkaLog, topics: Topics) -> ProgressRecord | None:
    """Return the decider's progress; None where it is damaged, which its users report."""
    try:
        return decode_progress(log, decider_query(topics, 1))
    except UnreachableError:
        raise
    except VerdictError:
        return None
