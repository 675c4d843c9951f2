"""An application in one process without Kafka and Spark, for tests, notebooks and small tools.

The same commands at the same times give the same bytes and rows as in a service, whose code it
runs. It ends with its process, decides one command at a time, and has no lake.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Unpack

from verdict.adapters.sql.readers.selected import Parameters
from verdict.adapters.sql.time_text import wall_clock
from verdict.client.errors import CommandTooLargeError
from verdict.model.application import Application
from verdict.model.command import Command
from verdict.model.command_envelope import CommandInfo, Expected, envelope_of
from verdict.model.message import Fields
from verdict.model.source import Source
from verdict.reactions.policies.reaction import reactions_added
from verdict.read_side.catalog import projections
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.testing.cascade import Cascade, DeadLetterMemory
from verdict.testing.memory_log import LogRecord, MemoryLog
from verdict.testing.memory_read_side import ReadSide
from verdict.wire.catalog import catalog_of
from verdict.wire.commands import encode_command
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.topics import COMMAND_BYTES, Topics
from verdict.write_side.decide.command_checks import Limits


class InMemory:
    """An application that takes commands and shows its projections, for one thread.

    When `send` returns, all that follows from the command has happened, commands of policies
    included. Each call sends the dead letters that are due again. Command ids are never forgotten.

        with InMemory(app) as shop:
            shop.send("order-1", PlaceOrder(client="ada", ...), expected_version=0)
            shop.sql("SELECT * FROM client_recent_order")

    Args:
        application: The application to run.
        settings: Its settings by name; others have their defaults.
        clock: Gives the time of each record in epoch milliseconds, as a broker does.
        topics: The topics of a deployment; default: without a prefix.
        limits: The limits of a decision.
        max_command_bytes: The largest command.
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

    def send(
        self,
        aggregate_id: str,
        command: Command,
        expected_version: Expected,
        **about: Unpack[CommandInfo],
    ) -> Response:
        """Send a command and return its outcome; the arguments are those of `Client.send`.

        Raises:
            ValidationError: A field does not fit the envelope.
            CommandTooLargeError: The command is over the limit; it was not sent.
            EndlessCascadeError: What follows has no end.
        """
        envelope = envelope_of(aggregate_id, expected_version, self._clock(), about)
        context = self._catalog.of(type(command))
        value = encode_command(context, envelope, command)
        if len(value) > self._command_limit:
            name = f"command {envelope.command_id!r} to {context.name} {aggregate_id!r}"
            raise CommandTooLargeError(name, len(value), self._command_limit)
        record = self.put(self.topics.commands(context.name), value, aggregate_id.encode())
        response = self.response_to(record.source)
        assert response is not None, "a command from here is never a dead letter"
        return response

    def put(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> LogRecord:
        """Put a record on any topic, and let everything happen that follows.

        Raises:
            TopicNotFoundError: There is no such topic.
            EndlessCascadeError: What follows has no end.
        """
        self._retry()
        record = self._log.append(topic, key, value, self._clock(), tuple(headers))
        self._consequences.of(record)
        return record

    def replay(self, records: Iterable[LogRecord]) -> list[OutputRecord]:
        """Decide a log of another service: each record at its position and time.

        Args:
            records: The records of the commands topics and of other inputs, each partition's in
                its order, commands of policies included.

        Returns:
            The commands that policies dispatch here, in the order of their causes.

        Raises:
            TopicNotFoundError: There is no such topic.
            ValueError: A record's offset is not higher than those of its partition.
        """
        commands = frozenset(self.topics.every_commands())
        asked: list[OutputRecord] = []
        for record in records:
            self._log.put(record)
            asked += self._consequences.of(record, given=commands)
        return asked

    def response_to(self, command: Source) -> Response | None:
        """Return the response to the command at this position; None: it became a dead letter."""
        topic = self.topics.responses(self.topics.aggregate_of(command.topic))
        for record in self._log.newest_first(topic, command.partition):
            response = decode(Response, record.value or b"")
            if response.source == command:
                return response
        return None

    def events(self, topic: str) -> list[LogRecord]:
        """Return the records of a topic, each partition's in its order.

        Raises:
            TopicNotFoundError: There is no such topic.
        """
        return self._log.records(topic)

    def sql(self, statement: str, parameters: Parameters = ()) -> list[Fields]:
        """Return the rows of one SELECT on the views, which show all that has happened.

        Raises:
            NotAllowedError: The statement reads more than views.
            VerdictError: It is no SQL, or names what does not exist.
        """
        self._retry()
        self._read_side.follow(self._log)
        self._dead_letters.take_in()
        return self._read_side.select(statement, parameters)

    def close(self) -> None:
        """Remove the file of the projections."""
        self._parts.close()

    def __enter__(self) -> "InMemory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def _read_side(self) -> ReadSide:
        """The tables, which the first use creates."""
        folder = self._parts.enter_context(tempfile.TemporaryDirectory(prefix="verdict-"))
        every = projections(self.topics.application, self._settings)
        found = ReadSide(Path(folder), self.topics, every, self._clock)
        self._parts.callback(found.close)
        return found

    @cached_property
    def _dead_letters(self) -> DeadLetterMemory:
        return DeadLetterMemory(self._read_side.database, self.topics, self._log, self._clock)

    def _retry(self) -> None:
        """Send the dead letters that are due again."""
        if not self._log.records(self.topics.dead_letters):
            return
        self._dead_letters.take_in()
        for retry in self._dead_letters.due():
            record = self._log.append(
                retry.topic, retry.key, retry.value, self._clock(), retry.headers
            )
            self._consequences.of(record)
