"""The way to Kafka: settings, deadlines, and what the clients log."""

import logging
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings

LOG = logging.getLogger("verdict.kafka")
STATE = re.compile(r"in state (\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConfig:
    """Where Kafka is, and how long it may take.

    Args:
        settings: librdkafka's names, `bootstrap.servers` and security among them.
        transaction_timeout_s: After it Kafka aborts a transaction by itself, and we stop waiting
            for an answer.
        outputs: To how many partitions we write of a topic; of one that is missing here, to all.
    """

    settings: Mapping[str, str | int] = field(repr=False)  # passwords are in it
    transaction_timeout_s: float = 15.0
    outputs: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"Kafka at {self.settings.get('bootstrap.servers')}"


def kafka_of(settings: Settings) -> KafkaConfig:
    """Return the way to the Kafka that is set, or to that of the service that runs.

    Raises:
        UnreachableError: No Kafka is set and no service runs.
    """
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
        """Return the seconds that are left, 0 when it has passed."""
        return max(0.0, self._end - time.monotonic())


class ClientLog:
    """What a librdkafka client logs: it goes on to `logging`, lost connections are counted.

    The error callback would not do: a connection that the other side closed while one request was
    under way (a commit, say) is logged at INFO, which the callback never hears of, and a repeated
    failure only in the debug log, `debug=broker`.

    The client hands its lines over inside its own `poll`, `flush` and `consume`, and keeps them
    until then: see `verdict.streaming.exactly_once.poll_thread`.
    """

    def __init__(self) -> None:
        self.lost_connections = 0
        self.last_failure = ""

    def log(self, level: int, template: str, *parts: str) -> None:
        """Take one line of a client's log; `parts` are its kind, the client's name, the text."""
        kind, text = parts[0], parts[-1]
        if kind == "FAIL":
            state = STATE.search(text)
            # a connection that was never up carries no request that could arrive late
            self.lost_connections += state is None or state[1] == "UP"
            self.last_failure = text
        # never as a warning: what the client cannot mend by itself is raised by its calls
        LOG.log(min(level, logging.INFO), template, *parts)
