"""The application that most tests use, and the engine's functions on it by an aggregate's name."""

from typing import Any

from compose.application import app
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import Message
from verdict.model.recorded_event import RecordedEvent
from verdict.wire import commands, records
from verdict.wire.catalog import catalog_of
from verdict.wire.codec import Codec, engine_codec
from verdict.wire.command_record import CommandRecord
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import SUBJECTS
from verdict.wire.response import Response
from verdict.wire.schemas.files import SchemaVersion
from verdict.write_side.decide import parse, snapshot
from verdict.write_side.decide.parse import ReceivedCommand
from verdict.write_side.decide.snapshot import Snapshot

APPLICATION = app
CATALOG = catalog_of(app)


def codec(subject: str) -> Codec:
    """Return the codec of a subject, the engine's or an aggregate's."""
    if subject in SUBJECTS.values():
        return engine_codec(subject)
    aggregate_type, _, kind = subject.rpartition("_")
    context = CATALOG[aggregate_type]
    return context.events if kind == "event" else context.commands


def newest(subject: str) -> SchemaVersion:
    """Return the schema that a subject is written with."""
    return CATALOG.schemas.newest(subject)


def encode_event(event: RecordedEvent) -> bytes:
    """Return the bytes of an event."""
    return records.encode_event(CATALOG[event.aggregate_type], event)


def decode_event(aggregate_type: str, value: bytes) -> RecordedEvent:
    """Return the event in `value`."""
    return records.decode_event(CATALOG[aggregate_type], value)


def encode_command(aggregate_type: str, envelope: CommandEnvelope, payload: Message) -> bytes:
    """Return the Avro bytes of a command."""
    return commands.encode_command(CATALOG[aggregate_type], envelope, payload)


def decode_command(aggregate_type: str, value: bytes) -> dict[str, Any]:
    """Return the fields of a command as they were sent."""
    return commands.decode_command(CATALOG[aggregate_type], value)


def receive(aggregate_type: str, record: CommandRecord) -> ReceivedCommand | Response | DeadLetter:
    """Read a record as a command."""
    return parse.parse_command(CATALOG[aggregate_type], record)


def encode_snapshot(aggregate_type: str, found: Snapshot[Any]) -> bytes:
    """Return the bytes of a snapshot."""
    return snapshot.encode_snapshot(CATALOG[aggregate_type], found)


def decode_snapshot(aggregate_type: str, kept: bytes) -> Snapshot[Any]:
    """Return the snapshot in `kept`."""
    return snapshot.decode_snapshot(CATALOG[aggregate_type], kept)
