"""Records of every topic as JSON objects: the contract's fields and the record's place."""

from collections.abc import Callable, Iterable
from enum import StrEnum

from confluent_kafka import Message
from pydantic import ValidationError
from pydantic_core import from_json

from verdict.model.application import Application
from verdict.operations.inspect.history import Fields
from verdict.wire.catalog import catalog_of
from verdict.wire.codec import DecodeError
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.json import readable, readable_command
from verdict.wire.records import decode, decode_event
from verdict.wire.response import Rejection, Response
from verdict.wire.topics import Topics


class RecordKind(StrEnum):
    """What a topic holds."""

    COMMANDS = "commands"
    EVENTS = "events"
    REJECTED = "rejected"
    RESPONSES = "responses"
    DEAD_LETTERS = "dead-letters"
    NOTIFICATIONS = "notifications"


OF_ALL = (RecordKind.DEAD_LETTERS, RecordKind.NOTIFICATIONS)  # whose topics are of no aggregate


def topics_of(topics: Topics, kind: RecordKind, names: Iterable[str]) -> dict[str, str]:
    """Return the topics that hold `kind` of these aggregates, each with its type, "" if of all."""
    if kind is RecordKind.DEAD_LETTERS:
        return {topics.dead_letters: ""}
    if kind is RecordKind.NOTIFICATIONS:
        return {topics.named(one.topic): "" for one in topics.application.notifications}
    named: dict[RecordKind, Callable[[str], str]] = {
        RecordKind.COMMANDS: topics.commands,
        RecordKind.EVENTS: topics.events,
        RecordKind.REJECTED: topics.rejected,
        RecordKind.RESPONSES: topics.responses,
    }
    return {named[kind](name): name for name in names}


def decode_record(
    application: Application, kind: RecordKind, aggregate_type: str, message: Message
) -> Fields:
    """Return a record with its topic, partition and offset.

    A record that cannot be read is shown as it is, with the `error`.
    """
    place = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
    value = message.value() or b""
    try:
        # again: a command that is not well-formed may say anything of itself
        return place | _fields(application, kind, aggregate_type, value) | place
    except (DecodeError, ValidationError) as error:
        return place | {"error": str(error), "key": message.key(), "bytes": value}


def _fields(
    application: Application, kind: RecordKind, aggregate_type: str, value: bytes
) -> Fields:
    match kind:
        case RecordKind.COMMANDS:
            return readable_command(catalog_of(application)[aggregate_type], value)
        case RecordKind.EVENTS:
            return readable(decode_event(catalog_of(application)[aggregate_type], value))
        case RecordKind.REJECTED:
            return readable(decode(Rejection, value))
        case RecordKind.RESPONSES:
            return readable(decode(Response, value))
        case RecordKind.DEAD_LETTERS:
            return readable(decode(DeadLetter, value))
        case RecordKind.NOTIFICATIONS:
            return _told(value)


def _told(value: bytes) -> Fields:
    try:
        return dict(from_json(value))
    except (ValueError, TypeError) as error:
        raise DecodeError(f"not JSON: {error}") from error
