"""An application in one process: its rules, policies and read models without Kafka and Spark.

It is for tests, notebooks and small tools. Commands go through the same code as in a service, from
bytes to bytes, so the same commands at the same times give the same verdicts, events, responses,
rejections and rows. What it has not: it ends with its process, takes one command at a time, and has
no lake.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from uuid_utils import uuid7

from verdict.adapters.sql.readers.selected import Parameters
from verdict.client.errors import CommandTooLargeError
from verdict.model.application import Application
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, Expected, meant
from verdict.model.source import Source
from verdict.reactions.policies.query import reactions_added
from verdict.read_side.catalog import projections
from verdict.testing.cascade import Cascade
from verdict.testing.letters import DeadLetterMemory
from verdict.testing.log import LogRecord, MemoryLog
from verdict.testing.read_side import ReadSide, Row
from verdict.wire.catalog import catalog_of
from verdict.wire.commands import encode_command
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.topics import Topics
from verdict.write_side.decide.handle import Limits
from verdict.write_side.processor.outputs import Output

COMMAND_BYTES = 64 * 1024


def wall_clock() -> int:
    """Return now in epoch milliseconds."""
    return time.time_ns() // 1_000_000


class InMemory:
    """An application that takes commands and shows its read models, for one thread.

    What a command leads to has happened when `send` returns, the commands of policies included.
    Read models are brought forward when they are asked; dead letters that are due are tried again
    whenever it is called. Command ids are remembered for ever.

        with InMemory(app) as shop:
            shop.send("order-1", PlaceOrder(client="ada", ...), expected_version=0)
            shop.sql("SELECT * FROM client_recent_order")

    Args:
        application: What runs.
        settings: Of the application, by name; what is missing has its default.
        clock: Gives the time of each record in epoch milliseconds, as a broker does.
        topics: Of the deployment; default: no prefix.
        limits: What bounds a decision.
        max_command_bytes: Of one command.
    """

    def __init__(
        self,
        application: Application,
        settings: Mapping[str, object] | None = None,
        *,
        clock: Callable[[], int] = wall_clock,
        topics: Topics | None = None,
        limits: Limits | None = None,
        max_command_bytes: int = COMMAND_BYTES,
    ) -> None:
        self._parts = ExitStack()
        self._catalog = catalog_of(application)
        self.topics = replace(topics or Topics(application), application=application)
        self._clock = clock
        self._command_limit = max_command_bytes
        self._settings = settings or {}
        self._log = MemoryLog(self.topics)
        self._consequences = Cascade(
            self._log,
            reactions_added(self.topics, self._settings),
            clock,
            limits or Limits(),
            max_command_bytes,
        )
        self._opened: tuple[ReadSide, DeadLetterMemory] | None = None

    def send(  # noqa: PLR0913  (the envelope's fields, each optional)
        self,
        aggregate_id: str,
        command: Command,
        expected_version: Expected,
        *,
        command_id: str | None = None,
        deadline: int | None = None,
        correlation_id: str | None = None,
        causation_id: str | None = None,
        actor: str | None = None,
        traceparent: str | None = None,
    ) -> Response:
        """Send a command and return its outcome; the arguments are those of `Client.send`.

        Raises:
            ValidationError: A field does not fit the envelope.
            CommandTooLargeError: The command is over the limit; it was not sent.
            EndlessCascadeError: What follows has no end.
        """
        envelope = CommandEnvelope(
            command_id=command_id or str(uuid7()),
            aggregate_id=aggregate_id,
            expected_version=meant(expected_version),
            deadline=deadline,
            correlation_id=correlation_id,
            causation_id=causation_id,
            actor=actor,
            traceparent=traceparent,
            issued_at=self._clock(),
            payload={},
        )
        context = self._catalog.of(type(command))
        aggregate_type = context.name
        value = encode_command(context, envelope, command)
        if len(value) > self._command_limit:
            about = f"command {envelope.command_id!r} to {aggregate_type} {aggregate_id!r}"
            raise CommandTooLargeError(about, len(value), self._command_limit)
        record = self.put(self.topics.commands(aggregate_type), value, aggregate_id.encode())
        response = self.response_to(record.source)
        assert response is not None, "what is sent from here is never a dead letter"
        return response

    def put(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> LogRecord:
        """Put a record on any topic, as others do, and let everything happen that follows.

        Raises:
            TopicNotFoundError: There is none of that name.
            EndlessCascadeError: What follows has no end.
        """
        self._retry()
        record = self._log.append(topic, key, value, self._clock(), tuple(headers))
        self._consequences.of(record)
        return record

    def replay(self, records: Iterable[LogRecord]) -> list[Output]:
        """Let a log that others wrote be decided: each record at its place, and at its time.

        Args:
            records: Of the commands topics and whatever else comes from outside, each partition's
                in its order. Commands of policies are among them, as they are on these topics.

        Returns:
            The commands that policies ask for here, in the order of their causes.

        Raises:
            TopicNotFoundError: There is none of the name of one.
            ValueError: One lies before another one of its partition that came earlier.
        """
        commands = frozenset(self.topics.every_commands())
        asked: list[Output] = []
        for record in records:
            self._log.put(record)
            asked += self._consequences.of(record, given=commands)
        return asked

    def response_to(self, command: Source) -> Response | None:
        """Return the response to the command at this place; None: it became a dead letter."""
        topic = self.topics.responses(self.topics.aggregate_of(command.topic))
        for record in self._log.newest_first(topic, command.partition):
            response = decode(Response, record.value or b"")
            if response.source == command:
                return response
        return None

    def events(self, topic: str) -> list[LogRecord]:
        """Return the records of a topic with their bytes, each partition's in its order.

        Raises:
            TopicNotFoundError: There is none of that name.
        """
        return self._log.records(topic)

    def sql(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of one SELECT on the views, which show all that has happened.

        Times are ISO 8601 texts, truth values 0 and 1, as other readers of SQLite get them.

        Raises:
            NotAllowedError: It touches more than the views.
            VerdictError: It is no SQL, or names what does not exist.
        """
        self._retry()
        read_side, letters = self._read_side()
        read_side.follow(self._log)
        letters.take_in()
        return read_side.select(statement, parameters)

    def close(self) -> None:
        """Remove the file of the read models; the application before it is in use again."""
        self._parts.close()

    def __enter__(self) -> "InMemory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_side(self) -> tuple[ReadSide, DeadLetterMemory]:
        """Return the tables, made when somebody needs them first."""
        if self._opened is None:
            folder = self._parts.enter_context(tempfile.TemporaryDirectory(prefix="verdict-"))
            read_models = projections(self.topics.application, self._settings)
            side = ReadSide(Path(folder), self.topics, read_models, self._clock)
            self._parts.callback(side.close)
            self._opened = (
                side,
                DeadLetterMemory(side.database, self.topics, self._log, self._clock),
            )
        return self._opened

    def _retry(self) -> None:
        """Send the dead letters again that are due."""
        if self._opened is None and not self._log.records(self.topics.dead_letters):
            return
        _, letters = self._read_side()
        letters.take_in()
        for retry in letters.due():
            record = self._log.append(
                retry.topic, retry.key, retry.value, self._clock(), retry.headers
            )
            self._consequences.of(record)
