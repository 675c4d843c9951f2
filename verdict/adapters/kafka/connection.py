"""How to connect to Kafka: its settings, deadlines, the client's log, and an admin client."""

import logging
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata  # type: ignore[attr-defined]

from verdict.adapters.kafka.errors import kafka_failed, settings_refused
from verdict.adapters.kafka.listing import list_topics
from verdict.errors import VerdictError
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings

LOG = logging.getLogger("verdict.kafka")
STATE = re.compile(r"in state (\w+)")
ClientOptions = dict[str, Any]
"""Options of a librdkafka client, callbacks and the log among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConfig:
    """Where Kafka is, and how long it may take.

    Args:
        settings: librdkafka's names, `bootstrap.servers` and security among them.
        transaction_timeout_s: After it Kafka aborts a transaction, and we stop waiting for answers.
        outputs: The partitions that we write to, by topic; of all other topics we write to all.
    """

    settings: Mapping[str, str | int] = field(repr=False)  # passwords are in it
    transaction_timeout_s: float = 15.0
    outputs: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"Kafka at {self.settings.get('bootstrap.servers')}"


def kafka_of(settings: Settings) -> KafkaConfig:
    """Return how to connect to the Kafka that is set, or else to that of the running service."""
    return KafkaConfig(
        settings=kafka_options(settings),
        transaction_timeout_s=settings.transaction_timeout_s,
        outputs=settings.topics.outputs(),
    )


class Deadline:
    """A moment that a call with many parts must not pass."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left, 0 after the deadline."""
        return max(0.0, self._end - time.monotonic())


class ClientLog:
    """Takes the log of a librdkafka client, and counts lost connections.

    The error callback does not get them: librdkafka logs a connection that the other side closed
    during a request at INFO, and repeated failures only with `debug=broker`. It hands lines over
    inside `poll`, `flush` and `consume`: see `verdict.streaming.exactly_once.poll_thread`.
    """

    def __init__(self) -> None:
        self.lost_connections = 0
        self.last_failure = ""

    def log(self, level: int, template: str, *parts: str) -> None:
        """Take one line, of which `parts` are its kind, the client's name and the text."""
        kind, text = parts[0], parts[-1]
        if kind == "FAIL":
            state = STATE.search(text)
            # a connection that was never up carries no request that may arrive late
            self.lost_connections += state is None or state[1] == "UP"
            self.last_failure = text
        # never as a warning: calls raise what the client cannot repair by itself
        LOG.log(min(level, logging.INFO), template, *parts)


class AdminConnection:
    """An admin client whose failures say which setting to look at."""

    def __init__(
        self, settings: Mapping[str, str | int], more: Mapping[str, int] | None = None
    ) -> None:
        self._servers = str(settings.get("bootstrap.servers"))
        self._log = ClientLog()
        given: ClientOptions = {**(more or {}), **settings, "logger": self._log}
        try:
            self.admin = AdminClient(given)
        except KafkaException as error:
            raise settings_refused(error) from error

    def listed(self, seconds: float, what: str) -> ClusterMetadata:
        """Return what Kafka lists."""
        try:
            return list_topics(self.admin, seconds, self.last_failure)
        except KafkaException as error:
            raise self.failed(what, error) from error

    def failed(self, what: str, error: KafkaException) -> VerdictError:
        """Return the error to raise for `error`."""
        return kafka_failed(what, self._servers, error, self.last_failure())

    def last_failure(self) -> str:
        """Return why the last connection failed."""
        self.admin.poll(0)  # hands over the log
        return self._log.last_failure
