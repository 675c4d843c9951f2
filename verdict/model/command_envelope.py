"""The envelope of a command: ids, the expected version, and who sent it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, TypedDict

from pydantic import PlainValidator, StringConstraints, TypeAdapter
from uuid_utils import uuid7

from verdict.model.message import LARGEST, NO_NUL, Fields, Instant, Message, Name, Text


class Expectation(StrEnum):
    """What a sender expects of an aggregate instead of an exact version."""

    ANY = "ANY"
    NO_STREAM = "NO_STREAM"
    EXISTS = "EXISTS"


Expected = int | Expectation | Literal["ANY", "NO_STREAM", "EXISTS"]  # as senders write it


def parse_expectation(expected: Expected) -> int | Expectation:
    """Return an expectation as its class."""
    return expected if isinstance(expected, int | Expectation) else Expectation(expected)


def _expectation(value: Any) -> int | Expectation:
    if isinstance(value, str) and value in set(Expectation):
        return Expectation(value)
    if type(value) is int and 0 <= value <= LARGEST:  # a bool is an int to isinstance
        return value
    raise ValueError(f"must be an integer from 0, or one of {', '.join(Expectation)}")


ExpectedVersion = Annotated[int | Expectation, PlainValidator(_expectation)]
CommandId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=NO_NUL)]
AggregateId = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=NO_NUL)]
command_id_rule: TypeAdapter[str] = TypeAdapter(CommandId)
aggregate_id_rule: TypeAdapter[str] = TypeAdapter(AggregateId)


class CommandEnvelope(Message):
    """A command as on `<aggregate>.commands`; its class checks the `payload`."""

    command_id: CommandId
    aggregate_id: AggregateId
    expected_version: ExpectedVersion
    deadline: Instant | None = None
    correlation_id: Name | None = None
    causation_id: Text | None = None
    actor: Text | None = None
    traceparent: Text | None = None
    issued_at: Instant | None = None
    payload: Fields


Deadline = datetime | int  # with a time zone, or epoch milliseconds


class CommandInfo(TypedDict, total=False):
    """What may accompany a command.

    A `command_id` (1 to 128 characters; default: a new UUIDv7) is decided once. The command is
    rejected if it reaches Kafka after `deadline`. `correlation_id` (1 to 256 characters; default:
    the command id) names the flow, `causation_id` the cause, `actor` the person or service behind
    the command. `traceparent` is W3C trace context, which events copy.
    """

    command_id: str | None
    deadline: Deadline | None
    correlation_id: str | None
    causation_id: str | None
    actor: str | None
    traceparent: str | None


def envelope_of(
    aggregate_id: str, expected_version: Expected, issued_at: int, about: CommandInfo
) -> CommandEnvelope:
    """Return the envelope of a command, without its payload; raises `ValidationError`."""
    command_id = about.get("command_id")
    fields = {
        **about,
        "command_id": str(uuid7()) if command_id is None else command_id,
        "aggregate_id": aggregate_id,
        "expected_version": expected_version,
        "deadline": _millis(about.get("deadline")),
        "issued_at": issued_at,
        "payload": {},
    }
    return CommandEnvelope.model_validate(fields)


def _millis(moment: Deadline | None) -> int | None:
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        raise ValueError(f"deadline {moment} needs a time zone")
    return round(moment.timestamp() * 1000)
