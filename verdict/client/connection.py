"""What every client does, however it waits: one producer, one reader of responses."""

import os
import time
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, TypedDict, Unpack

from uuid_utils import uuid7

from verdict.client.errors import CommandTooLargeError, OutcomeUnknownError, require_same_process
from verdict.client.pending import Pending, PendingError
from verdict.client.producer import CommandProducer
from verdict.client.responses import Responses
from verdict.client.waiting import PendingCommands
from verdict.model.application import Application
from verdict.model.command import Command
from verdict.model.command_envelope import (
    CommandEnvelope,
    Expected,
    aggregate_id_rule,
    command_id_rule,
)
from verdict.wire.catalog import catalog_of
from verdict.wire.commands import encode_command
from verdict.wire.topics import Topics

COMMAND_BYTES = 64 * 1024

Instant = datetime | int  # with a time zone, or epoch milliseconds


class CommandInfo(TypedDict, total=False):
    """What may go with a command.

    `command_id` names the wish, 1 to 128 characters, and the same id is decided once (default: a
    new UUIDv7). After `deadline` the command is rejected if it has not reached Kafka.
    `correlation_id` is of the flow that this belongs to, 1 to 256 characters (default: the
    command's id), `causation_id` of what caused the command, `actor` on whose behalf it is sent.
    `traceparent` is W3C trace context, copied to the events.
    """

    command_id: str | None
    deadline: Instant | None
    correlation_id: str | None
    causation_id: str | None
    actor: str | None
    traceparent: str | None


class Outgoing(NamedTuple):
    """A command that is ready to be sent."""

    pending: Pending
    value: bytes


class Connection:
    """Sends commands and hears of their outcomes; nothing is connected before the first.

    Safe between threads. For its arguments see `ConnectionState`.
    """

    def __init__(
        self,
        application: Application,
        bootstrap_servers: str,
        topics: Topics | None,
        config: Mapping[str, str] | None,
        max_command_bytes: int,
        own_replies: bool,
    ) -> None:
        self._catalog = catalog_of(application)
        self._topics = topics or Topics(application)
        self._limit = max_command_bytes
        self._made_by = os.getpid()
        self._trouble = PendingError()
        self.waiting = PendingCommands()
        extra, name = config or {}, uuid7().bytes if own_replies else None
        self.outbox = CommandProducer(bootstrap_servers, extra, self.waiting, self._trouble, name)
        self.responses = Responses(
            bootstrap_servers, self._topics, extra, self.waiting, self._trouble, name
        )
        self._followed: frozenset[str] = frozenset()
        self._closing = False

    def outgoing(
        self,
        aggregate_id: str,
        command: Command,
        expected_version: Expected,
        **about: Unpack[CommandInfo],
    ) -> Outgoing:
        """Return a command in its envelope; see `Client.send`."""
        command_id = about.get("command_id")
        fields = {
            **about,
            "command_id": str(uuid7()) if command_id is None else command_id,
            "aggregate_id": aggregate_id,
            "expected_version": expected_version,
            "deadline": _millis(about.get("deadline")),
            "issued_at": time.time_ns() // 1_000_000,
            "payload": {},
        }
        envelope = CommandEnvelope.model_validate(fields)
        context = self._catalog.of(type(command))
        value = encode_command(context, envelope, command)
        return self.encoded(context.name, aggregate_id, envelope.command_id, value)

    def encoded(
        self, aggregate_type: str, aggregate_id: str, command_id: str, value: bytes
    ) -> Outgoing:
        """Return a command of bytes; see `Client.send_encoded`."""
        require_same_process(self._made_by)
        aggregate_id_rule.validate_python(aggregate_id)
        command_id_rule.validate_python(command_id)
        held = self.waiting.held
        pending = Pending(aggregate_type, aggregate_id, command_id, self._trouble, held)
        self._require_open(pending)
        if len(value) > self._limit:
            raise CommandTooLargeError(str(pending), len(value), self._limit)
        return Outgoing(pending, value)

    def follows(self, outgoing: Outgoing) -> bool:
        """Whether the answer to this command would be heard."""
        return outgoing.pending.aggregate_type in self._followed

    def follow(self, outgoing: Outgoing) -> None:
        """Hear answers of its aggregate's type from now on; waits for Kafka.

        Raises:
            KafkaUnavailableError: Kafka does not answer.
        """
        aggregate_type = outgoing.pending.aggregate_type
        self.responses.follow(aggregate_type, self.outbox.producer)
        self._followed |= {aggregate_type}

    def put(self, outgoing: Outgoing) -> bool:
        """Hand a command to the producer; return False when its queue is full.

        Raises:
            NotDeliveredError: The producer does not take it.
        """
        pending, value = outgoing
        self._require_open(pending)
        return self.outbox.put(pending, self._topics.commands(pending.aggregate_type), value)

    def flush(self, timeout_s: float | None = None) -> None:
        """Return when Kafka has acknowledged everything that was sent; see `Client.flush`."""
        require_same_process(self._made_by)
        self.outbox.flush(timeout_s)

    def begin_closing(self) -> bool:
        """Send nothing from now on; return whether there is something to close."""
        begins = not self._closing and os.getpid() == self._made_by  # a fork has nothing of it
        self._closing = True
        return begins

    def close(self) -> None:
        """Flush, and stop listening; see `Client.close`."""
        try:
            self.flush()
        finally:
            self.responses.stop()
            self.waiting.fail(
                OutcomeUnknownError(
                    "the client was closed before the outcome came: "
                    "it is unknown, ask again with the same command id"
                )
            )

    def _require_open(self, pending: Pending) -> None:
        if self._closing:
            raise ValueError(f"{pending} was sent through a client that is closed")


class ConnectionState:
    """What every client has: a connection, made of what it is given."""

    def __init__(
        self,
        application: Application,
        bootstrap_servers: str,
        topics: Topics | None = None,
        config: Mapping[str, str] | None = None,
        max_command_bytes: int = COMMAND_BYTES,
        *,
        own_replies: bool = False,
    ) -> None:
        """Prepare to send; nothing is connected before the first command."""
        self._connection = Connection(
            application, bootstrap_servers, topics, config, max_command_bytes, own_replies
        )

    @property
    def unreadable(self) -> int:
        """How many responses could not be read so far; each cost one waiting at most."""
        return self._connection.responses.unreadable


def _millis(moment: Instant | None) -> int | None:
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        raise ValueError(f"deadline {moment} needs a time zone")
    return round(moment.timestamp() * 1000)
