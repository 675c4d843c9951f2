"""Notices, whether commands come or not, that a topic was deleted or created again."""

import time
from collections.abc import Collection

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import (
    Identities,
    Identity,
    Remembered,
    require_same_topics,
)
from verdict.errors import UnreachableError

LOOK_S = 4.0
ANSWER_S = 1.0


class LogWatch:
    """Compares the topics' ids with those at the start, every four seconds.

    Args:
        kafka: Where the topics are.
        topics: Those to look at.

    Raises:
        UnreachableError: Kafka does not answer.
    """

    def __init__(self, kafka: KafkaConfig, topics: Collection[str]) -> None:
        self._identities = Identities(kafka)
        ids = Identity(None, self._identities.identity(topics).topic_ids)
        self._known = Remembered(whose="this process", ids=ids)
        self._next = time.monotonic() + LOOK_S

    def check(self) -> None:
        """Look if it is time to.

        Raises:
            DifferentLogError: A topic is gone, or another one now.
        """
        if time.monotonic() >= self._next:
            self.look()

    def look(self) -> None:
        """Return if the topics are the same, or Kafka does not answer.

        Raises:
            DifferentLogError: A topic is gone, or another one now.
        """
        self._next = time.monotonic() + LOOK_S
        try:
            require_same_topics(self._known, self._identities, ANSWER_S)
        except UnreachableError:
            return  # whoever needs Kafka reports it
