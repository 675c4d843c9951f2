"""Notices that another process owns the query now, without anything to publish."""

import time

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.errors import FencedError, fenced, gone_back
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_marker import read_marker_in
from verdict.wire.marker import Marker

LOOK_S = 2.0
ANSWER_S = 1.0


class OwnerWatch:
    """Reads the marker of a query every two seconds; disturbs nobody.

    Kafka fences an owner that is replaced, but the owner finds that out only when it publishes.
    Without commands it would run for ever, and look as if it decided.

    Args:
        kafka: Where the marker is.
        query: Whose marker.
        claim: The marker with which this process claimed the query.

    Raises:
        InvalidSettingsError: The client does not accept the settings.
    """

    def __init__(self, kafka: KafkaConfig, query: Query, claim: Marker) -> None:
        self._kafka = kafka
        self._query = query
        self._last = claim
        self._claim_seen = False
        self._log = KafkaLog(kafka.settings)
        self._next = time.monotonic() + LOOK_S

    def check(self) -> None:
        """Look if it is time to. The next batch reports what else goes wrong with the marker.

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
        """Return if the newest marker is this owner's.

        Raises:
            FencedError: It is another owner's, or older than one before it.
            UnreachableError: Kafka does not answer within the transaction timeout.
        """
        self._look(self._kafka.transaction_timeout_s)

    def _look(self, seconds: float) -> None:
        self._log.allow(seconds)
        marker, settled = read_marker_in(self._log, self._query)
        if marker is None:
            return  # the next batch says who deleted it
        ours = marker.owner == self._last.owner
        # an open transaction may still hide the claim, and then this marker is older than it
        self._claim_seen |= ours or settled
        if not self._claim_seen:
            return
        if _reached(marker) < _reached(self._last):
            raise gone_back(self._query, marker, self._last)
        if not ours:
            raise fenced(self._query, marker)
        self._last = marker

    def close(self) -> None:
        """Let Kafka's clients go."""
        with self._log:
            pass


def _reached(marker: Marker) -> tuple[int, int]:
    return marker.generation, marker.batch_id
