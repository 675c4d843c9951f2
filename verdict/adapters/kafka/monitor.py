"""Whether Kafka can be reached: asked all the time, as it is said at once when it is away."""

import logging
import threading
import time
from datetime import datetime
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from verdict.adapters.kafka.connection import ClientLog, KafkaConfig

LOG = logging.getLogger("verdict.reach")
EVERY_S = 1.0
ANSWER_S = 5.0
QUICK = {"reconnect.backoff.max.ms": 1000, "socket.timeout.ms": 5000}


class KafkaMonitor:
    """Asks Kafka for a topic it knows, from `start` to `stop`, and says when it does not answer.

    Args:
        kafka: Where it is.
        topic: One that exists.
    """

    def __init__(self, kafka: KafkaConfig, topic: str) -> None:
        self.away_since: float | None = None  # seconds of the epoch
        self._kafka = kafka
        self._topic = topic
        self._began = 0.0
        self._stopping = threading.Event()
        self._log = ClientLog()
        self._thread = threading.Thread(target=self._run, name="reach of Kafka", daemon=True)

    @property
    def there(self) -> bool:
        """Whether the last question was answered, or none was asked yet."""
        return self.away_since is None

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        settings: dict[str, Any] = {**QUICK, **self._kafka.settings, "logger": self._log}
        client = AdminClient(settings)
        while not self._stopping.is_set():
            asked, clock = time.time(), time.monotonic()
            failure = self._ask(client)
            if failure and self.there:
                self._lost(asked, clock, failure)
            elif not failure and not self.there:
                self._found()
            self._stopping.wait(EVERY_S)

    def _ask(self, client: AdminClient) -> str:
        """Return why there is no answer, nothing when there is one."""
        try:
            client.list_topics(self._topic, timeout=ANSWER_S)
        except KafkaException as error:
            client.poll(0)  # hands over what was logged
            return self._log.last_failure or error.args[0].str()
        return ""

    def _lost(self, asked: float, clock: float, failure: str) -> None:
        self.away_since, self._began = asked, clock
        LOG.error(
            "%s is away since %s (%s): what is sent waits, nothing is lost, and this service goes "
            "on when it is back",
            self._kafka, local_time(asked), failure.rpartition("]: ")[2],
        )  # fmt: skip

    def _found(self) -> None:
        self.away_since = None
        away_s = time.monotonic() - self._began
        LOG.warning("%s is back after %.0f s", self._kafka, away_s)


def local_time(seconds: float) -> str:
    """Return a moment (seconds of the epoch) as people here read it off the clock."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S%z")
