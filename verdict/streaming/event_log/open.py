"""The event log of a deployment, as its settings say where it is."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import open_reader
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.event_log import LOG, EventLog
from verdict.streaming.event_log.skip_log import reader_skipping


def open_event_log(
    settings: Settings,
    parts: ExitStack,
    log: KafkaLog | None = None,
    tell: Callable[[str], None] = LOG.warning,
) -> EventLog:
    """Return the log of a deployment; what it needs is opened when it is needed first.

    It leaves out what people decided to pass over.
    """

    @cache
    def kafka() -> KafkaLog:
        return log or parts.enter_context(reader_skipping(kafka_options(settings), settings.topics))

    @cache
    def archive() -> Archive:
        return Archive(parts.enter_context(open_reader(settings)))

    return EventLog(settings.topics, kafka, archive, tell)
