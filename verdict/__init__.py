"""Event-sourced CQRS on Kafka, Spark and SQL: every command gets exactly one verdict.

What services and applications import of verdict; for projections there is `verdict.projections`,
for tests `verdict.testing`. A name is
loaded when it is asked for: who sends commands waits for no SQL, and nobody here for Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
    from verdict.adapters.sql.readers.selected import NotAllowedError, RoleMissingError
    from verdict.cli.options import settings_of
    from verdict.client.async_client import AsyncClient
    from verdict.client.client import Client
    from verdict.client.errors import (
        CommandTooLargeError,
        ForkedClientError,
        KafkaUnavailableError,
        NotDeliveredError,
        OutcomeUnknownError,
        SendFailedError,
        UnreadableResponseError,
        UnreadableResponsesError,
    )
    from verdict.client.pending import Pending
    from verdict.errors import (
        EnvironmentIncompleteError,
        TimedOutError,
        UnreachableError,
        VerdictError,
    )
    from verdict.model.aggregate import Aggregate, InvalidApplicationError
    from verdict.model.application import Application, UnknownAggregateError
    from verdict.model.command import CREATING, EXISTING, REOPENING, Command
    from verdict.model.command_envelope import AggregateId, CommandEnvelope, Expectation
    from verdict.model.inbound import Inbound, NoCommandError
    from verdict.model.lake_table import LakeColumn, LakeTable
    from verdict.model.life_cycle import LifeCycle
    from verdict.model.message import (
        LARGEST,
        Cents,
        Event,
        Instant,
        Message,
        Name,
        Positive,
        Text,
        iso_time,
    )
    from verdict.model.notification import Notification
    from verdict.model.personal import Personal, masked
    from verdict.model.policy import Dispatch, Policy
    from verdict.model.reason import Reason
    from verdict.model.recorded_event import RecordedEvent
    from verdict.model.refused import Refused
    from verdict.model.source import Source
    from verdict.model.state_topic import StateRecord, StateTopic
    from verdict.model.verb import Verb
    from verdict.operations.status.collect import get_status
    from verdict.operations.status.status import StatusReport
    from verdict.operations.status.wait_until_idle import wait_until_idle
    from verdict.read_side.query.by_name import UnknownProjectionError
    from verdict.read_side.query.read_your_writes import (
        ProjectionUnavailableError,
        ReadToken,
        wait_for_projection,
    )
    from verdict.settings.application_loader import ApplicationNotFoundError, load_application
    from verdict.settings.load import InvalidSettingsError, load_settings
    from verdict.settings.parsers import listed
    from verdict.settings.settings import Settings
    from verdict.streaming.event_log.archive import HashMismatchError
    from verdict.streaming.event_log.event_log import EventsMissingError
    from verdict.streaming.event_log.subscription import (
        Place,
        SubscribedEvent,
        Subscription,
        subscribe,
    )
    from verdict.wire.dead_letter_record import DeadLetterRecord
    from verdict.wire.response import CommandRejectedError, Response, Status
    from verdict.wire.topics import Topics

__all__ = [
    "CREATING",
    "EXISTING",
    "LARGEST",
    "REOPENING",
    "Access",
    "Aggregate",
    "AggregateId",
    "Application",
    "ApplicationNotFoundError",
    "AsyncClient",
    "Cents",
    "Client",
    "Command",
    "CommandEnvelope",
    "CommandRejectedError",
    "CommandTooLargeError",
    "DeadLetterRecord",
    "Dispatch",
    "EnvironmentIncompleteError",
    "Event",
    "EventsMissingError",
    "Expectation",
    "ForkedClientError",
    "HashMismatchError",
    "Inbound",
    "Instant",
    "InvalidApplicationError",
    "InvalidSettingsError",
    "KafkaUnavailableError",
    "LakeColumn",
    "LakeTable",
    "LifeCycle",
    "Message",
    "Name",
    "NoCommandError",
    "NotAllowedError",
    "NotDeliveredError",
    "Notification",
    "OutcomeUnknownError",
    "Pending",
    "Personal",
    "Place",
    "Policy",
    "Positive",
    "ProjectionUnavailableError",
    "ReadToken",
    "Reader",
    "Reason",
    "RecordedEvent",
    "Refused",
    "Response",
    "RoleMissingError",
    "SendFailedError",
    "Settings",
    "Source",
    "StateRecord",
    "StateTopic",
    "Status",
    "StatusReport",
    "SubscribedEvent",
    "Subscription",
    "Text",
    "TimedOutError",
    "Topics",
    "UnknownAggregateError",
    "UnknownProjectionError",
    "UnreachableError",
    "UnreadableResponseError",
    "UnreadableResponsesError",
    "Verb",
    "VerdictError",
    "get_status",
    "iso_time",
    "listed",
    "load_application",
    "load_settings",
    "masked",
    "open_reader",
    "settings_of",
    "subscribe",
    "wait_for_projection",
    "wait_until_idle",
]  # fmt: skip

# type checkers read what is above, Python loads what it is asked for from here; a test compares
HOMES = {
    "verdict.settings.application_loader": "ApplicationNotFoundError load_application",
    "verdict.cli.options": "settings_of",
    "verdict.client.async_client": "AsyncClient",
    "verdict.client.client": "Client",
    "verdict.client.errors": "ForkedClientError KafkaUnavailableError NotDeliveredError"
    " OutcomeUnknownError"
    " UnreadableResponseError UnreadableResponsesError SendFailedError CommandTooLargeError",
    "verdict.client.pending": "Pending",
    "verdict.settings.load": "InvalidSettingsError load_settings",
    "verdict.settings.settings": "Settings",
    "verdict.settings.parsers": "listed",
    "verdict.errors": "EnvironmentIncompleteError TimedOutError UnreachableError VerdictError",
    "verdict.streaming.event_log.archive": "HashMismatchError",
    "verdict.streaming.event_log.event_log": "EventsMissingError",
    "verdict.streaming.event_log.subscription": "SubscribedEvent Place Subscription subscribe",
    "verdict.model.aggregate": "Aggregate InvalidApplicationError",
    "verdict.model.application": "Application UnknownAggregateError",
    "verdict.model.state_topic": "StateRecord StateTopic",
    "verdict.model.command": "CREATING EXISTING REOPENING Command",
    "verdict.model.command_envelope": "AggregateId CommandEnvelope Expectation",
    "verdict.model.inbound": "Inbound NoCommandError",
    "verdict.model.lake_table": "LakeColumn LakeTable",
    "verdict.model.life_cycle": "LifeCycle",
    "verdict.model.message": "LARGEST Cents Event Instant Message Name Positive Text iso_time",
    "verdict.model.notification": "Notification",
    "verdict.model.personal": "Personal masked",
    "verdict.model.policy": "Dispatch Policy",
    "verdict.model.reason": "Reason",
    "verdict.model.recorded_event": "RecordedEvent",
    "verdict.model.refused": "Refused",
    "verdict.model.source": "Source",
    "verdict.model.verb": "Verb",
    "verdict.read_side.query.by_name": "UnknownProjectionError",
    "verdict.read_side.query.read_your_writes": "ProjectionUnavailableError ReadToken"
    " wait_for_projection",
    "verdict.adapters.sql.readers.reader": "Reader Access open_reader",
    "verdict.adapters.sql.readers.selected": "RoleMissingError NotAllowedError",
    "verdict.operations.status.collect": "get_status",
    "verdict.operations.status.status": "StatusReport",
    "verdict.operations.status.wait_until_idle": "wait_until_idle",
    "verdict.wire.dead_letter_record": "DeadLetterRecord",
    "verdict.wire.response": "CommandRejectedError Response Status",
    "verdict.wire.topics": "Topics",
}
_HOME_OF = {name: home for home, names in HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # to whom it would say that every name is there

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'verdict' has no attribute {name!r}")
        found: object = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = found  # the next to ask finds it at once
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
