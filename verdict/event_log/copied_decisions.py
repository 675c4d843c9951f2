"""Decisions of operators, copied into the read side for SQL."""

from sqlalchemy import Engine

from verdict.event_log.decisions import read_decisions
from verdict.kafka.log import Options
from verdict.projection import decision, quarantined
from verdict.projection.database import failing_in_words
from verdict.wire.passed_over import PassedOver
from verdict.wire.topics import Topics


def copied_decisions(options: Options, topics: Topics, database: Engine) -> PassedOver:
    """Copy what was decided into the read side, for people to see; return all that it has then.

    Raises:
        Unreachable: Kafka or the database does not answer.
    """
    decisions = read_decisions(options, topics)
    with failing_in_words(database), database.begin() as connection:
        decision.copy(connection, decisions)
        quarantined.copy(connection, decisions)
        return decision.passed_over(connection)
