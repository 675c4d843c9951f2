"""Notices that another process owns the query now, without anything to publish."""

import time

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.errors import FencedError, fenced, gone_back
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import read_progress_in
from verdict.wire.progress_record import ProgressRecord

LOOK_S = 2.0
ANSWER_S = 1.0


class OwnerWatch:
    """Reads the progress record of a query every two seconds; disturbs nobody.

    Kafka fences an owner that is replaced, but the owner finds that out only when it publishes.
    Without commands it would run for ever, and look as if it decided.

    Args:
        kafka: Where the progress record is.
        query: Whose progress record.
        claim: The progress record with which this process claimed the query.

    Raises:
        InvalidSettingsError: The client does not accept the settings.
    """

    def __init__(self, kafka: KafkaConfig, query: Query, claim: ProgressRecord) -> None:
        self._kafka = kafka
        self._query = query
        self._last = claim
        self._claim_seen = False
        self._log = KafkaLog(kafka.settings)
        self._next = time.monotonic() + LOOK_S

    def check(self) -> None:
        """Look if it is time to. The next batch reports what else goes wrong with the progress.

        Raises:
            FencedError: As for `look`.
        """
        if time.monotonic() < self._next:
            return
        try:
            self._look(ANSWER_S)
        except FencedError:
            raise
        except VerdictError:
            return
        finally:
            self._next = time.monotonic() + LOOK_S

    def look(self) -> None:
        """Return if the newest progress record is this owner's.

        Raises:
            FencedError: It is another owner's, or older than one before it.
            UnreachableError: Kafka does not answer within the transaction timeout.
        """
        self._look(self._kafka.transaction_timeout_s)

    def _look(self, seconds: float) -> None:
        self._log.allow(seconds)
        progress, settled = read_progress_in(self._log, self._query)
        if progress is None:
            return  # the next batch says who deleted it
        ours = progress.owner == self._last.owner
        # an open transaction may still hide the claim, and then this progress is older than it
        self._claim_seen |= ours or settled
        if not self._claim_seen:
            return
        if _reached(progress) < _reached(self._last):
            raise gone_back(self._query, progress, self._last)
        if not ours:
            raise fenced(self._query, progress)
        self._last = progress

    def close(self) -> None:
        """Let Kafka's clients go."""
        with self._log:
            pass


def _reached(progress: ProgressRecord) -> tuple[int, int]:
    return progress.generation, progress.batch_id
