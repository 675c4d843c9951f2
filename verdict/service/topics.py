"""The topics of a deployment: created and checked at the start, then watched."""

import logging
import time
from collections.abc import Collection

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.errors import VerdictError
from verdict.read_side.tables.same_log import require_same_database
from verdict.service.queries import require_same_log
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import accepted_partitions, read_skips
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.streaming.exactly_once.topic_owner import check_topics_owner, claim_topics
from verdict.wire.partitions import TopicPartition
from verdict.wire.progress_record import ProgressRecord

LOG = logging.getLogger("verdict.service")
TOPICS_LOG = logging.getLogger("verdict.topics")
IDS_S, TRANSACTIONS_S = 4.0, 5.0  # between two looks
ANSWER_S = 1.0


def create_topics(settings: Settings, kafka: KafkaConfig) -> list[str]:
    """Create the topics that are missing, and no progress record knows; return their names."""
    require_same_log(settings, kafka)
    check_topics_owner(settings.topics, kafka)
    require_same_database(settings, kafka)
    return TopicAdmin(kafka.settings, settings.topics).create_missing()


def ensure_topics(settings: Settings, kafka: KafkaConfig) -> ProgressRecord | None:
    """Create as `create_topics` does, own and check everything against settings and progress."""
    created = create_topics(settings, kafka)
    claim_topics(settings.topics, kafka, are_new=settings.topics.owners in created)
    progress = readable_progress(kafka, decider_query(settings.topics, settings.shards))
    accepted = accepted_partitions(read_skips(kafka.settings, settings.topics))
    offsets = None if progress is None else progress.offsets
    TopicAdmin(kafka.settings, settings.topics).ensure(offsets, accepted)
    return progress


class TransactionWatch:
    """Logs transactions that are open for longer than ours may be: records after them wait."""

    def __init__(self, kafka: KafkaConfig, topics: Collection[str]) -> None:
        self._log = KafkaLog(kafka.settings)
        self._topics = topics
        self._limit_s = kafka.transaction_timeout_s
        self._since: dict[tuple[TopicPartition, int], float] = {}
        self._said: set[tuple[TopicPartition, int]] = set()
        self._next = time.monotonic() + TRANSACTIONS_S

    def check(self) -> None:
        """Look, if it is time to."""
        if time.monotonic() >= self._next:
            self.look()
            self._next = time.monotonic() + TRANSACTIONS_S

    def look(self) -> None:
        """Log each transaction that is open for too long once."""
        try:
            hidden = self._log.hidden(self._log.written(self._log.places(self._topics)))
        except VerdictError:
            return  # other components report a Kafka that does not answer, or lacks a topic
        now = time.monotonic()
        self._since = {one: self._since.get(one, now) for one in hidden.items()}
        self._said &= self._since.keys()
        for one, since in self._since.items():
            if now - since >= self._limit_s and one not in self._said:
                self._said.add(one)
                place, offset = one
                TOPICS_LOG.warning(
                    "a transaction on %s has been open for %.0f s at offset %s: what follows is "
                    "not read until its writer ends it; see `verdict status`",
                    place, now - since, offset,
                )  # fmt: skip

    def close(self) -> None:
        """Let Kafka's clients go."""
        with self._log:
            pass
