"""What surrounds a command on its way: who, about what, and on which assumption."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import PlainValidator, StringConstraints, TypeAdapter

from verdict.model.message import LARGEST, NO_NUL, Instant, Message, Name, Text


class Expectation(StrEnum):
    """What a sender may assume about an aggregate instead of its exact version."""

    ANY = "ANY"
    NO_STREAM = "NO_STREAM"
    EXISTS = "EXISTS"


Expected = int | Expectation | Literal["ANY", "NO_STREAM", "EXISTS"]  # as senders may say it


def meant(expected: Expected) -> int | Expectation:
    """Return what a sender means by a number or a word."""
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
    """A command as it lies on `<aggregate>.commands`.

    `deadline` means "must have reached Kafka by". `payload` is the command's type and fields:
    validated by the command class, not here.
    """

    command_id: CommandId
    aggregate_id: AggregateId
    expected_version: ExpectedVersion
    deadline: Instant | None = None
    correlation_id: Name | None = None
    causation_id: Text | None = None
    actor: Text | None = None
    traceparent: Text | None = None
    issued_at: Instant | None = None
    payload: dict[str, Any]
