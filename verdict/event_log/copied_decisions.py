"""Decisions of operators, copied into the read side for SQL."""

from sqlalchemy import Engine

from verdict.event_log.decisions import read_skips
from verdict.kafka.log import Options
from verdict.projection import decision, quarantined
from verdict.projection.database import failing_in_words
from verdict.wire.passed_over import SkippedRanges
from verdict.wire.topics import Topics


def sync_skips(options: Options, topics: Topics, database: Engine) -> SkippedRanges:
    """Copy what was decided into the read side, for people to see; return all that it has then.

    Raises:
        UnreachableError: Kafka or the database does not answer.
    """
    decisions = read_skips(options, topics)
    with failing_in_words(database), database.begin() as connection:
        decision.copy(connection, decisions)
        quarantined.copy(connection, decisions)
        return decision.passed_over(connection)
