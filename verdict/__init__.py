"""Event-sourced CQRS on Kafka, Spark and SQL: every command gets exactly one verdict.

What services and applications import of verdict; for projections there is `verdict.projections`,
for tests `verdict.testing`. A name is
loaded when it is asked for: who sends commands waits for no SQL, and nobody here for Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdict.application_loader import NoApplication, load_application
    from verdict.cli.options import settings_of
    from verdict.client.async_client import AsyncClient
    from verdict.client.client import Client
    from verdict.client.errors import (
        Forked,
        KafkaUnavailable,
        NotDelivered,
        OutcomeUnknown,
        ResponsesUnreadable,
        ResponseUnreadable,
        SendingFailed,
        TooLarge,
    )
    from verdict.client.pending import Pending
    from verdict.configuration.loading import SettingsInvalid, load_settings
    from verdict.configuration.settings import Settings
    from verdict.configuration.values import listed
    from verdict.errors import EnvironmentIncomplete, TimedOut, Unreachable, VerdictError
    from verdict.event_log.archive import Altered
    from verdict.event_log.event_log import Gone
    from verdict.event_log.subscription import Followed, Place, Subscription, subscribe
    from verdict.model.aggregate import Aggregate, Misdeclared
    from verdict.model.application import Application, UnknownAggregate
    from verdict.model.carried_state import CarriedState, StateTopic
    from verdict.model.command import CREATING, EXISTING, REOPENING, Command
    from verdict.model.command_envelope import AggregateId, CommandEnvelope, Expectation
    from verdict.model.inbound import Inbound, NoCommand
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
    from verdict.model.policy import Asked, Policy
    from verdict.model.reason import Reason
    from verdict.model.recorded_event import RecordedEvent
    from verdict.model.refused import Refused
    from verdict.model.source import Source
    from verdict.model.verb import Verb
    from verdict.read_models.declared_projection import NotDeclared
    from verdict.read_models.read_your_writes import NeverShown, Token, wait
    from verdict.reading.reader import Reader, Sees, reader_of
    from verdict.reading.selected import NotAdmitted, NotForReaders
    from verdict.standing.asking import standing_of
    from verdict.standing.facts import Standing
    from verdict.standing.settling import until_settled
    from verdict.wire.letter import Letter
    from verdict.wire.response import Rejected, Response, Status
    from verdict.wire.topics import Topics

__all__ = [
    "CREATING", "EXISTING", "LARGEST", "REOPENING", "Aggregate", "AggregateId", "Altered",
    "Application", "Asked", "AsyncClient", "CarriedState", "Cents", "Client", "Command",
    "CommandEnvelope", "EnvironmentIncomplete", "Event", "Expectation", "Followed", "Forked",
    "Gone", "Inbound", "Instant", "KafkaUnavailable", "LakeColumn", "LakeTable", "Letter",
    "LifeCycle", "Message", "Misdeclared", "Name", "NeverShown", "NoApplication",
    "NoCommand", "NotAdmitted", "NotDeclared", "NotDelivered", "NotForReaders", "Notification",
    "OutcomeUnknown", "Pending", "Personal", "Place", "Policy", "Positive", "Reader", "Reason",
    "RecordedEvent", "Refused", "Rejected", "Response",
    "ResponseUnreadable", "ResponsesUnreadable", "Sees", "SendingFailed", "Settings",
    "SettingsInvalid", "Source", "Standing", "StateTopic", "Status", "Subscription", "Text",
    "TimedOut", "Token", "TooLarge", "Topics", "UnknownAggregate", "Unreachable", "Verb",
    "VerdictError", "iso_time", "listed", "load_application", "load_settings", "masked",
    "reader_of", "settings_of", "standing_of", "subscribe", "until_settled", "wait",
]  # fmt: skip

# type checkers read what is above, Python loads what it is asked for from here; a test compares
HOMES = {
    "verdict.application_loader": "NoApplication load_application",
    "verdict.cli.options": "settings_of",
    "verdict.client.async_client": "AsyncClient",
    "verdict.client.client": "Client",
    "verdict.client.errors": "Forked KafkaUnavailable NotDelivered OutcomeUnknown"
    " ResponseUnreadable ResponsesUnreadable SendingFailed TooLarge",
    "verdict.client.pending": "Pending",
    "verdict.configuration.loading": "SettingsInvalid load_settings",
    "verdict.configuration.settings": "Settings",
    "verdict.configuration.values": "listed",
    "verdict.errors": "EnvironmentIncomplete TimedOut Unreachable VerdictError",
    "verdict.event_log.archive": "Altered",
    "verdict.event_log.event_log": "Gone",
    "verdict.event_log.subscription": "Followed Place Subscription subscribe",
    "verdict.model.aggregate": "Aggregate Misdeclared",
    "verdict.model.application": "Application UnknownAggregate",
    "verdict.model.carried_state": "CarriedState StateTopic",
    "verdict.model.command": "CREATING EXISTING REOPENING Command",
    "verdict.model.command_envelope": "AggregateId CommandEnvelope Expectation",
    "verdict.model.inbound": "Inbound NoCommand",
    "verdict.model.lake_table": "LakeColumn LakeTable",
    "verdict.model.life_cycle": "LifeCycle",
    "verdict.model.message": "LARGEST Cents Event Instant Message Name Positive Text iso_time",
    "verdict.model.notification": "Notification",
    "verdict.model.personal": "Personal masked",
    "verdict.model.policy": "Asked Policy",
    "verdict.model.reason": "Reason",
    "verdict.model.recorded_event": "RecordedEvent",
    "verdict.model.refused": "Refused",
    "verdict.model.source": "Source",
    "verdict.model.verb": "Verb",
    "verdict.read_models.declared_projection": "NotDeclared",
    "verdict.read_models.read_your_writes": "NeverShown Token wait",
    "verdict.reading.reader": "Reader Sees reader_of",
    "verdict.reading.selected": "NotAdmitted NotForReaders",
    "verdict.standing.asking": "standing_of",
    "verdict.standing.facts": "Standing",
    "verdict.standing.settling": "until_settled",
    "verdict.wire.letter": "Letter",
    "verdict.wire.response": "Rejected Response Status",
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
