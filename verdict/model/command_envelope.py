"""The envelope of a command: ids, the expected version, and who sent it."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import PlainValidator, StringConstraints, TypeAdapter

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
