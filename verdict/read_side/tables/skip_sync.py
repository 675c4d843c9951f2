"""Decisions of operators, copied into the read side for SQL."""

from sqlalchemy import Engine

from verdict.adapters.kafka.reader import Options
from verdict.read_side.schema.database import failing_in_words
from verdict.read_side.tables import quarantined, skips
from verdict.streaming.event_log.skip_log import read_skips
from verdict.wire.skip_record import SkippedRanges
from verdict.wire.topics import Topics


def sync_skips(options: Options, topics: Topics, database: Engine) -> SkippedRanges:
    """Copy what was decided into the read side, for people to see; return all that it has then.

    Raises:
        UnreachableError: Kafka or the database does not answer.
    """
    decisions = read_skips(options, topics)
    with failing_in_words(database), database.begin() as connection:
        skips.copy(connection, decisions)
        quarantined.copy(connection, decisions)
        return skips.passed_over(connection)
