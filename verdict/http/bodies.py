"""The bodies of responses as types, for OpenAPI only.

The bodies themselves are built from rows and records. A test compares them with these types.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, RootModel, WithJsonSchema

from verdict.model.command import LifeCycle
from verdict.model.message import JsonObject
from verdict.model.source import Source
from verdict.wire.response import Response

Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Next = Annotated[str | None, Field(description="The address of the next page, if there is one.")]
Doubt = Annotated[
    str | None, Field(description="Where the outcome and the archived events do not agree.")
]


class Live(BaseModel):
    """The process runs, and so does its service."""

    live: bool
    silent_s: float = Field(description="Seconds since the last sign of life.")


class Ready(BaseModel):
    """Commands are decided."""

    ready: bool
    why: list[str] = Field(description="Empty.")


class CommandResponse(Response):
    """The outcome of a command: accepted, or rejected with the reason.

    `from_version` and `to_version` are the versions of the aggregate before and after. They are
    equal if an accepted command changed nothing. `duplicate` says that the command id was processed
    before, and that this is the outcome from then. `retriable` says that the same command may be
    sent again. `details` has what a rule says besides its `message`.
    """


class NoOutcome(BaseModel):
    """No outcome came in time: send the command again with this `command_id`."""

    command_id: str
    status: Literal["UNKNOWN"]
    message: str


class Outcome(RootModel[JsonObject]):
    """The outcome of a command, as the view `outcome` has it."""


class EventPayload(RootModel[JsonObject]):
    """What an event says, by its `type`. Personal fields are null without the page token."""


class HistoryEvent(BaseModel):
    """An event in the archive."""

    global_position: int
    aggregate_type: str
    aggregate_id: str
    version: int
    event_id: str
    event_type: str
    payload: EventPayload
    topic: str
    partition: int
    offset: int
    decided_at: Time
    command_id: str
    actor: str | None
    source: Source = Field(description="The position of the command that caused it.")
    checked: bool = Field(
        description="Whether the stored bytes fit their hash; not checked without the page token."
    )


class State(BaseModel):
    """An aggregate at a version."""

    aggregate_type: str
    aggregate_id: str
    version: int
    life_cycle: LifeCycle
    decided_at: Time | None
    position: Source | None = Field(description="Of the event that led to this version.")
    state: JsonObject | None = Field(description="Null while there is no such aggregate.")


class HistoryEntry(BaseModel):
    """A command and the events that it caused."""

    response: Outcome | None = Field(description="Null if the outcome is lost.")
    events: list[HistoryEvent]


class History(BaseModel):
    """Commands to one aggregate with their events, the oldest first."""

    aggregate_type: str
    aggregate_id: str
    complete: bool = Field(description="Whether this is all, and nothing of it is missing.")
    missing: list[str] = Field(description="What is lost, altered, or not in the archive yet.")
    commands: list[HistoryEntry]
    next: Next


class FlowEvent(HistoryEvent):
    """An event, and the commands that policies sent because of it."""

    asked: "list[FlowCommand]"


class FlowCommand(BaseModel):
    """A command of a flow, and the events that it caused."""

    command_id: str
    policy: str | None = Field(description="Which policy sent it.")
    response: Outcome | None = Field(description="Null if the outcome is lost.")
    doubt: Doubt
    events: list[FlowEvent]


class Flow(BaseModel):
    """The commands of one correlation id, as a tree."""

    correlation_id: str
    complete: bool = Field(description="Whether nothing is missing or left out.")
    commands: list[FlowCommand]


class ExplainedRecord(BaseModel):
    """One record of a command, and why it ended as it did."""

    response: Outcome
    met_version: int | None = Field(description="The version that the command met.")
    doubt: Doubt
    cause: HistoryEvent | None = Field(
        description="The event because of which a policy sent the command."
    )
    winners: list[HistoryEvent] = Field(description="Events that its sender had not seen.")
    events: list[HistoryEvent] = Field(description="Events that the command caused.")
    instead: str | None = Field(description="What could be sent now.")


class Explanation(BaseModel):
    """Each record of one command id."""

    command_id: str
    records: list[ExplainedRecord]


class ViewRows(BaseModel):
    """Rows of a view."""

    rows: list[JsonObject]
    next: Next
