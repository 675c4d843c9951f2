"""What an application exchanges with other systems: their records, their states, and our data."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ConfigDict

from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import JsonObject, Message, Name
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source


@dataclass(frozen=True, slots=True)
class Notification:
    """A record for other systems, once per event.

    Args:
        name: Of the notification, for people.
        follows: The aggregate types whose events it looks at.
        topic: Its own topic, without the prefix of a deployment.
        tell: Event → the record, as values that JSON can carry, or None for no record; pure.
    """

    name: str
    follows: tuple[str, ...]
    topic: str
    tell: Callable[[RecordedEvent], JsonObject | None]


class NoCommandError(ValueError):
    """A record can never become a command; operators read why.

    The text is kept with the record, so it names fields, never their values.
    """


@dataclass(frozen=True, slots=True)
class Inbound:
    """A topic of another system whose records become commands.

    Args:
        name: For people.
        topic: The topic of the other system, without the prefix of a deployment.
        aggregate_type: The type of the aggregates that get the commands.
        command_of: (value, its position) → the command; pure. The command id follows from the
            position, so a record that is read twice is one command. It raises `NoCommandError` for
            a record that can never become one.
    """

    name: str
    topic: str
    aggregate_type: str
    command_of: Callable[[bytes, Source], tuple[CommandEnvelope, Command]]


class StateRecord(Message):
    """A state on a topic of another system; `id` is the key of the record."""

    model_config = ConfigDict(extra="ignore")

    id: Name


@dataclass(frozen=True, slots=True)
class StateTopic:
    """A compacted topic on which others keep the newest state of each thing, in JSON.

    A record without a value deletes the state of its key. Fields that `state` lacks are ignored.

    Args:
        topic: Its name, without the prefix of a deployment.
        state: The class of a value.
        about: The aggregate type that the states describe, if there is one.
    """

    topic: str
    state: type[StateRecord]
    about: str | None = None


class LakeColumn(NamedTuple):
    """A column: its name, its type in Spark's SQL, and its comment."""

    name: str
    type: str
    holds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeTable:
    """A table of the lake: rows that follow from events, as Parquet files.

    Args:
        name: Of the folder of its files.
        aggregate_type: The type whose events it follows.
        columns: All columns, of the types STRING, INT, BIGINT, DATE and TIMESTAMP.
        partition: The column whose values are folders.
        rows: (event, its position) → rows by column, without personal data; pure.
    """

    name: str
    aggregate_type: str
    columns: tuple[LakeColumn, ...]
    partition: LakeColumn
    rows: Callable[[RecordedEvent, Source], Iterable[Mapping[str, Any]]]
