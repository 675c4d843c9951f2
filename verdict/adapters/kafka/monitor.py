"""Asks Kafka all the time whether it answers, and whether its topics are still the same."""

import logging
import threading
import time
from collections.abc import Collection
from datetime import datetime

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identities, Identity, Remembered, require_same_ids
from verdict.errors import UnreachableError, VerdictError

LOG = logging.getLogger("verdict.reach")
EVERY_S = 1.0
ANSWER_S = 5.0
COMPARED_S = 4.0
COMPARE_ANSWER_S = 1.0
QUICK = {"reconnect.backoff.max.ms": 1000, "socket.timeout.ms": 5000}


class KafkaMonitor:
    """Describes topics every second, from `start` to `stop`.

    `unreachable_since` is in seconds of the epoch; None while Kafka answers.
    """

    def __init__(self, kafka: KafkaConfig, topics: Collection[str]) -> None:
        self.unreachable_since: float | None = None
        self._kafka, self._topics = kafka, topics
        self._identities = Identities(kafka, QUICK)
        self._known: Remembered | None = None
        self._compare_at = 0.0
        self._lost_at = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="Kafka monitor", daemon=True)

    @property
    def is_reachable(self) -> bool:
        """Whether Kafka answered last, or was not asked yet."""
        return self.unreachable_since is None

    def remember(self) -> None:
        """Let `check` compare with the topics of now."""
        ids = Identity(None, self._identities.identity(self._topics).topic_ids)
        self._known = Remembered(whose="this process", ids=ids)

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def stop(self) -> None:
        """Stop asking."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def check(self) -> None:
        """Compare the topics every four seconds; raises as `compare`."""
        if self.is_reachable and time.monotonic() >= self._compare_at:
            self.compare()

    def compare(self) -> None:
        """Raise DifferentLogError if a topic was deleted, whether it was created again or not."""
        self._compare_at = time.monotonic() + COMPARED_S
        if self._known is None:
            return
        try:
            found = self._identities.topic_ids(self._known.ids.topic_ids, COMPARE_ANSWER_S)
        except UnreachableError:
            return  # what needs Kafka reports it
        require_same_ids([self._known], Identity(None, found))

    def _run(self) -> None:
        while not self._stopping.is_set():
            asked, clock = time.time(), time.monotonic()
            failure = self._ask()
            if failure and self.is_reachable:
                self.unreachable_since, self._lost_at = asked, clock
                LOG.error(
                    "%s is away since %s (%s): what is sent waits, nothing is lost, and this "
                    "service goes on when it is back",
                    self._kafka, local_time(asked), failure,
                )  # fmt: skip
            elif not failure and not self.is_reachable:
                self.unreachable_since = None
                away_s = time.monotonic() - self._lost_at
                LOG.warning("%s is back after %.0f s", self._kafka, away_s)
            self._stopping.wait(EVERY_S)

    def _ask(self) -> str:
        """Return why there is no answer, nothing if there is one."""
        try:
            self._identities.topic_ids(self._topics, ANSWER_S)
        except UnreachableError as error:
            return self._identities.last_failure().rpartition("]: ")[2] or str(error)
        except VerdictError:
            pass  # it answers, and refuses
        return ""


def local_time(seconds: float) -> str:
    """Return a moment (seconds of the epoch) as a clock here shows it."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S%z")
