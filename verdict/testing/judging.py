"""One command on its way through the write side, from bytes to a verdict, without a topic."""

from collections.abc import Mapping
from typing import Any

from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.source import Source
from verdict.wire.catalog import AggregateContext
from verdict.wire.commands import encode_command
from verdict.wire.response import Response
from verdict.write_side.decide.handle import DecidedCommand, Limits, handle
from verdict.write_side.decide.parse import ReceivedCommand, parse_command, truncate_command
from verdict.write_side.decide.snapshot import Snapshot

Remembered = Mapping[tuple[str, str, str], Response]


def decide_command(  # noqa: PLR0913  (what a command meets)
    context: AggregateContext,
    envelope: CommandEnvelope,
    command: Command,
    place: Source,
    at: int,
    snapshot: Snapshot[Any],
    remembered: Remembered,
) -> DecidedCommand:
    """Return what a service would say to a command; pure."""
    value = encode_command(context, envelope, command)
    key = envelope.aggregate_id.encode()
    received = parse_command(context, truncate_command(place, at, key, value, len(value)))
    assert isinstance(received, ReceivedCommand), received
    earlier = remembered.get((context.name, envelope.aggregate_id, envelope.command_id))
    return handle(context, snapshot, received, earlier, Limits())
