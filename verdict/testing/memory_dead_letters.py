"""Dead letters in memory: rows of the table of dead letters, published again when due."""

from collections.abc import Callable, Sequence

from sqlalchemy import Engine

from verdict.adapters.sql.statements import append
from verdict.reactions.dead_letters.allowed_topics import AllowedTopics
from verdict.reactions.dead_letters.queue import DueRetry, claim, remove
from verdict.reactions.dead_letters.retry_rules import RetryRules, row_of
from verdict.read_side.tables.dead_letters import table
from verdict.testing.memory_log import LogRecord, MemoryLog
from verdict.wire.dead_letter_record import DeadLetterRecord
from verdict.wire.topics import Topics

ATTEMPTS, BACKOFF = 3, "exponential:1s,2,1h"  # as the settings have it
MOST = 1000


class DeadLetterMemory:
    """The dead letters of a deployment; `clock` gives epoch milliseconds."""

    def __init__(
        self, database: Engine, topics: Topics, log: MemoryLog, clock: Callable[[], int]
    ) -> None:
        self._database = database
        self._clock = clock
        self._log = log
        self._taken = dict.fromkeys(log.ends([topics.dead_letters]), 0)
        self._rules = RetryRules(
            attempts=ATTEMPTS,
            backoff=BACKOFF,
            retry_topic=topics.retry,
            problem_with=AllowedTopics(topics, (), lambda: log.names).problem_with,
            now=clock,
            declared=topics.application.backoffs,
        )

    def take_in(self) -> None:
        """Write the new dead letters to the table."""
        rows = [row_of(_letter(record), self._rules) for record in self._log.since(self._taken)]
        if rows:
            with self._database.begin() as connection:
                append(connection, table, rows)
        self._taken = self._log.ends([place.topic for place in self._taken])

    def due(self) -> Sequence[DueRetry]:
        """Remove the retries that are due from the table, and return them."""
        with self._database.begin() as connection:
            retries = claim(connection, self._clock(), MOST)
            remove(connection, retries)
        return retries


def _letter(record: LogRecord) -> DeadLetterRecord:
    return DeadLetterRecord(
        source=record.source,
        timestamp=record.timestamp,
        key=record.key,
        value=record.value,
        headers=record.headers,
    )
