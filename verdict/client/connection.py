"""What both clients share: one producer, one reader of responses, and how a command is prepared."""

import os
import time
from collections.abc import Mapping
from typing import NamedTuple, Unpack

from uuid_utils import uuid7

from verdict.client.errors import CommandTooLargeError, OutcomeUnknownError, require_same_process
from verdict.client.pending import Pending, PendingError
from verdict.client.pending_commands import PendingCommands
from verdict.client.producer import CommandProducer
from verdict.client.responses import Responses
from verdict.model.application import Application
from verdict.model.command import Command
from verdict.model.command_envelope import (
    CommandInfo,
    Expected,
    aggregate_id_rule,
    command_id_rule,
    envelope_of,
)
from verdict.wire.catalog import catalog_of
from verdict.wire.commands import encode_command
from verdict.wire.topics import COMMAND_BYTES, Topics


class Outgoing(NamedTuple):
    """A command that is ready to be sent."""

    pending: Pending
    value: bytes


class Connection:
    """A connection to Kafka, which begins with the first command; safe to share between threads."""

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
        self._catalog = catalog_of(application)
        self._topics = topics or Topics(application)
        self._limit = max_command_bytes
        self._made_by = os.getpid()
        self._trouble = PendingError()
        self._waiting = PendingCommands()
        extra, name = config or {}, uuid7().bytes if own_replies else None
        self._producer = CommandProducer(
            bootstrap_servers, extra, self._waiting, self._trouble, name
        )
        self._responses = Responses(
            bootstrap_servers, self._topics, extra, self._waiting, self._trouble, name
        )
        self._followed: frozenset[str] = frozenset()
        self._closing = False

    @property
    def unreadable(self) -> int:
        """How many responses could not be read so far; each ended one wait at most."""
        return self._responses.unreadable

    def _outgoing(
        self,
        aggregate_id: str,
        command: Command,
        expected_version: Expected,
        **about: Unpack[CommandInfo],
    ) -> Outgoing:
        envelope = envelope_of(aggregate_id, expected_version, time.time_ns() // 1_000_000, about)
        context = self._catalog.of(type(command))
        value = encode_command(context, envelope, command)
        return self._encoded(context.name, aggregate_id, envelope.command_id, value)

    def _encoded(
        self, aggregate_type: str, aggregate_id: str, command_id: str, value: bytes
    ) -> Outgoing:
        require_same_process(self._made_by)
        aggregate_id_rule.validate_python(aggregate_id)
        command_id_rule.validate_python(command_id)
        held = self._waiting.held
        pending = Pending(aggregate_type, aggregate_id, command_id, self._trouble, held)
        self._require_open(pending)
        if len(value) > self._limit:
            raise CommandTooLargeError(str(pending), len(value), self._limit)
        return Outgoing(pending, value)

    def _follows(self, outgoing: Outgoing) -> bool:
        """Return whether the responses to this aggregate type are read already."""
        return outgoing.pending.aggregate_type in self._followed

    def _follow(self, outgoing: Outgoing) -> None:
        """Read the responses to this aggregate type from now on; waits for Kafka."""
        aggregate_type = outgoing.pending.aggregate_type
        self._responses.follow(aggregate_type, self._producer.producer)
        self._followed |= {aggregate_type}

    def _put(self, outgoing: Outgoing) -> bool:
        """Pass a command to the producer; return False if its queue is full."""
        pending, value = outgoing
        self._require_open(pending)
        return self._producer.put(pending, self._topics.commands(pending.aggregate_type), value)

    def _flush(self, timeout_s: float | None = None) -> None:
        require_same_process(self._made_by)
        self._producer.flush(timeout_s)

    def _begin_closing(self) -> bool:
        """Send nothing from now on; return whether there is something to close."""
        begins = not self._closing and os.getpid() == self._made_by  # a fork has nothing of it
        self._closing = True
        return begins

    def _close(self) -> None:
        try:
            self._flush()
        finally:
            self._responses.stop()
            self._waiting.fail(
                OutcomeUnknownError(
                    "the client was closed before the outcome came: "
                    "it is unknown, ask again with the same command id"
                )
            )

    def _require_open(self, pending: Pending) -> None:
        if self._closing:
            raise ValueError(f"{pending} was sent through a client that is closed")
