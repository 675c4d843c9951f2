"""The decider's progress record, for those who only look at it."""

from verdict.adapters.kafka.connection import kafka_of
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress_now
from verdict.wire.progress_record import ProgressRecord


def decider_progress(settings: Settings) -> ProgressRecord | None:
    """Return the progress record; None when nothing was ever decided here.

    Raises:
        UnreachableError: Kafka does not answer.
        VerdictError: The progress topic holds something else.
    """
    return read_progress_now(kafka_of(settings), decider_query(settings.topics, settings.shards))
