"""Where Kafka's topics differ from what they must be."""

from dataclasses import replace

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topic_drift import PARTITIONS, Difference
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import accepted_partitions, read_skips
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress_now
from verdict.wire.partitions import TopicPartition
from verdict.wire.progress_record import ProgressRecord


def decider_progress(settings: Settings) -> ProgressRecord | None:
    """Return the decider's progress record; None if nothing was ever decided here."""
    return read_progress_now(kafka_of(settings), decider_query(settings.topics, settings.shards))


def topic_differences(settings: Settings) -> list[Difference]:
    """Return all that is missing or differs, except what an operator has accepted."""
    return differences_to(settings, decider_progress(settings))


def differences_to(settings: Settings, progress: ProgressRecord | None) -> list[Difference]:
    """Return them, given the decider's progress record."""
    options, topics = kafka_options(settings), settings.topics
    accepted = accepted_partitions(read_skips(options, topics))
    found = TopicAdmin(options, topics).differences(
        progress.offsets if progress else None, accepted
    )
    added = [one for one in found if one.setting == PARTITIONS and not one.fatal]
    if not added:
        return found
    with KafkaLog(options) as log:
        return [_with_records(one, log) if one in added else one for one in found]


def _with_records(added: Difference, log: KafkaLog) -> Difference:
    """Return a difference of added partitions with the number of records that are on them."""
    numbers = range(int(added.wanted), int(added.found))
    kept = log.bounds([TopicPartition(added.topic, number) for number in numbers])
    if not (count := sum(span.end - span.start for span in kept.values())):
        return added
    advice = f"up to {count} records of others are on the added ones: see what writes there"
    return replace(added, advice=f"{added.advice}; {advice}")
