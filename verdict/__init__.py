"""Event-sourced CQRS on Kafka, Spark and SQL: what applications and their clients import.

More is in `verdict.model`, `verdict.projections`, `verdict.errors`, `verdict.client`,
`verdict.readers`, `verdict.settings`, `verdict.cli` and `verdict.testing`.
"""

from typing import TYPE_CHECKING

from verdict.lazy_imports import load_lazily

if TYPE_CHECKING:
    from verdict.adapters.sql.readers.reader import open_reader
    from verdict.client.async_client import AsyncClient
    from verdict.client.client import Client
    from verdict.model.aggregate import Aggregate
    from verdict.model.application import Application
    from verdict.model.command import CREATING, EXISTING, REOPENING, Command, LifeCycle, Refused
    from verdict.model.command_envelope import Expectation
    from verdict.model.integration import Inbound, Notification
    from verdict.model.message import Cents, Event, Instant, Message, Name, Positive, Text
    from verdict.model.personal import Personal
    from verdict.model.policy import Dispatch, Policy
    from verdict.model.reason import Reason
    from verdict.model.recorded_event import RecordedEvent
    from verdict.settings.load import load_settings
    from verdict.settings.settings import Settings
    from verdict.streaming.event_log.subscription import subscribe
    from verdict.wire.response import Response

__all__ = [
    "CREATING", "EXISTING", "REOPENING", "Aggregate", "Application", "AsyncClient", "Cents",
    "Client", "Command", "Dispatch", "Event", "Expectation", "Inbound", "Instant", "LifeCycle",
    "Message", "Name", "Notification", "Personal", "Policy", "Positive", "Reason",
    "RecordedEvent", "Refused", "Response", "Settings", "Text", "load_settings", "open_reader",
    "subscribe",
]  # fmt: skip

if not TYPE_CHECKING:  # it reads the imports above
    __getattr__, __dir__ = load_lazily(__name__)
