"""Where Kafka's topics are not what they must be, as far as they are known to a deployment."""

from dataclasses import replace

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topic_drift import Difference
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.operations.status.progress_records import decider_progress
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import accepted_partitions, read_skips
from verdict.wire.partitions import TopicPartition
from verdict.wire.progress_record import ProgressRecord


def topic_differences(settings: Settings) -> list[Difference]:
    """Return all that is missing or differs, but for what a person has accepted.

    Raises:
        UnreachableError: Kafka does not answer.
        VerdictError: It does not let us see a topic's settings, or the progress record is none.
    """
    return differences_to(settings, decider_progress(settings))


def differences_to(settings: Settings, progress: ProgressRecord | None) -> list[Difference]:
    """Return them as `topic_differences` does, for who knows the decider's progress already."""
    options, topics = kafka_options(settings), settings.topics
    accepted = accepted_partitions(read_skips(options, topics))
    decided = progress.offsets if progress else None
    found = TopicAdmin(options, topics).differences(decided, accepted)
    added = {one: _added(one) for one in found if not one.fatal}
    if not added:
        return found
    with KafkaLog(options) as log:
        kept = log.bounds([place for places in added.values() for place in places])
    counts = {
        one: sum(kept[p].end - kept[p].start for p in places) for one, places in added.items()
    }
    return [_with_records(one, counts.get(one, 0)) for one in found]


def _added(difference: Difference) -> list[TopicPartition]:
    numbers = range(int(difference.wanted), int(difference.found))
    return [TopicPartition(difference.topic, number) for number in numbers]


def _with_records(difference: Difference, count: int) -> Difference:
    if not count:
        return difference
    said = f"up to {count} records of others are on the added ones: see what writes there"
    return replace(difference, advice=f"{difference.advice}; {said}")
