"""All that follows from a record: verdicts, commands of policies, notifications, retries."""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import Engine

from verdict.adapters.sql.statements import append
from verdict.reactions.dead_letters.allowed_topics import AllowedTopics
from verdict.reactions.dead_letters.queue import DueRetry, due_retries, remove
from verdict.reactions.dead_letters.retry_rules import RetryRules, row_of
from verdict.reactions.policies.reaction import Reactions
from verdict.read_side.tables.dead_letters import table
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.testing.memory_log import LogRecord, MemoryLog
from verdict.wire.command_record import CommandRecord, truncate_command
from verdict.wire.dead_letter_record import RETRY_ATTEMPT, RETRY_POLICY, DeadLetterRecord, Pairs
from verdict.wire.headers import REPLY_TO, pairs
from verdict.wire.topics import OUTPUT_BYTES, Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.shard_state import DictState

# as Spark reads an integer of 32 bits in a text, see `verdict.write_side.processor.spark_plan`
BLANK = bytes(range(0x21)) + b"\x7f"
COUNT = re.compile(rb"\+?0*([0-9]{1,10})")
MOST_ATTEMPTS = 2**31 - 1

MOST = 10_000  # records that follow from one: a policy that answers itself never ends

ATTEMPTS, BACKOFF = 3, "exponential:1s,2,1h"  # as the settings have it
MOST_DUE = 1000

Clock = Callable[[], int]


class EndlessCascadeError(RuntimeError):
    """The records that follow from one have no end."""

    def __init__(self, first: LogRecord, last: LogRecord) -> None:
        super().__init__(
            f"{MOST} records followed from {first.source} and there are more, the last is "
            f"{last.source}: a policy answers to what it causes itself; give it an end"
        )


class Cascade:
    """Handles records as a service does, in their order; `clock` gives epoch milliseconds."""

    def __init__(
        self,
        log: MemoryLog,
        reactions: Reactions,
        clock: Clock,
        limits: Limits,
        max_command_bytes: int,
    ) -> None:
        self._log = log
        self._topics = reactions.topics
        self._reactions = reactions
        self._clock = clock
        self._limits = limits
        self._command_limit = max_command_bytes
        self._state = DictState()
        self._readers = dict.fromkeys(reactions.inputs, self._react)
        self._readers |= dict.fromkeys(self._topics.every_commands(), self._decide)

    def of(self, first: LogRecord, given: frozenset[str] = frozenset()) -> list[OutputRecord]:
        """Handle a record of the log, and all that follows from it.

        Outputs to the topics `given` are returned and not handled.
        """
        waiting, left_out = deque([first]), list[OutputRecord]()
        for _ in range(MOST):
            if not waiting:
                return left_out
            record = waiting.popleft()
            read = self._readers.get(record.topic)
            for output in [*read(record)] if read else ():
                if output.topic in given:
                    left_out.append(output)
                else:
                    waiting.append(self._published(output))
        raise EndlessCascadeError(first, waiting[-1])

    def _published(self, output: OutputRecord) -> LogRecord:
        headers: Pairs = tuple(
            (name, value.encode() if isinstance(value, str) else value)
            for name, value in pairs(output.headers)
        )
        return self._log.append(output.topic, output.key, output.value, self._clock(), headers)

    def _decide(self, record: LogRecord) -> Iterator[OutputRecord]:
        batch = ShardBatch(self._topics, self._limits, self._state)
        yield from batch.decide([_taken(record, self._command_limit)])
        batch.commit()

    def _react(self, record: LogRecord) -> Iterator[OutputRecord]:
        sent = record.topic in self._topics.inbound
        taken = _taken(record, self._command_limit if sent else OUTPUT_BYTES)
        name = record.header(RETRY_POLICY)
        named = None if name is None else name.decode(errors="backslashreplace")
        return self._reactions.of(taken, named)


def _taken(record: LogRecord, limit: int) -> CommandRecord:
    taken = truncate_command(
        record.source, record.timestamp, record.key, record.value, limit, _attempt(record)
    )
    return taken._replace(reply_to=record.header(REPLY_TO))


def _attempt(record: LogRecord) -> int:
    """Return how often a record was tried again, 0 where its header makes no sense to Spark."""
    found = COUNT.fullmatch((record.header(RETRY_ATTEMPT) or b"").strip(BLANK))
    return count if found and (count := int(found[1])) <= MOST_ATTEMPTS else 0


class DeadLetterMemory:
    """The dead letters of a deployment; `clock` gives epoch milliseconds."""

    def __init__(self, database: Engine, topics: Topics, log: MemoryLog, clock: Clock) -> None:
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
        rows = [
            row_of(
                DeadLetterRecord(
                    source=one.source,
                    timestamp=one.timestamp,
                    key=one.key,
                    value=one.value,
                    headers=one.headers,
                ),
                self._rules,
            )
            for one in self._log.since(self._taken)
        ]
        if rows:
            with self._database.begin() as connection:
                append(connection, table, rows)
        self._taken = self._log.ends([place.topic for place in self._taken])

    def due(self) -> Sequence[DueRetry]:
        """Remove the retries that are due from the table, and return them."""
        with self._database.begin() as connection:
            retries = due_retries(connection, self._clock(), MOST_DUE)
            remove(connection, retries)
        return retries
