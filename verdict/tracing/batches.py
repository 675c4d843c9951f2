"""In which batch a command was decided: the marker says it, the last record of its transaction."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from opentelemetry.sdk.trace import ReadableSpan

from verdict.configuration.settings import Settings
from verdict.errors import VerdictError
from verdict.exactly_once.decider_query import decider_query
from verdict.exactly_once.marker_feed import Arrived, MarkerFeed
from verdict.kafka.access import kafka_of
from verdict.kafka.offsets import at
from verdict.model.source import Source
from verdict.tracing.spans import Batch, place_of, span_of_batch

LOG = logging.getLogger("verdict.tracing")
KEPT = 1000  # markers
MOST = 10_000  # commands that wait at once; of more, the oldest are let go
PATIENCE_S = 30.0  # a transaction is seen in one partition before another, not for long


class Waiting(NamedTuple):
    """A command whose marker was not seen yet."""

    place: Source
    command: ReadableSpan
    since: float


class Batches:
    """The spans of the batches that decided what is traced.

    Args:
        arrived: Tells which markers of the decider have arrived since it was last asked.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        arrived: Callable[[], Sequence[Arrived]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._arrived = arrived
        self._clock = clock
        self._markers: deque[Arrived] = deque(maxlen=KEPT)
        self._waiting: deque[Waiting] = deque(maxlen=MOST)

    def wait_for(self, command: ReadableSpan) -> None:
        """Wait for the marker of a command's batch.

        Args:
            command: Its span.
        """
        self._waiting.append(Waiting(place_of(command), command, self._clock()))

    def passed(self) -> Iterator[ReadableSpan]:
        """Yield the spans of batches that have come.

        One whose marker Kafka has dropped, or the one before it, has none: nobody knows which
        it was.
        """
        self._markers += self._arrived()
        for _ in range(len(self._waiting)):
            waiting = self._waiting.popleft()
            if (batch := self._of(waiting.place)) is not None:
                yield span_of_batch(waiting.command, batch)
            elif self._clock() - waiting.since < PATIENCE_S:
                self._waiting.append(waiting)

    def _of(self, place: Source) -> Batch | None:
        for marker, before in pairwise(reversed(self._markers)):
            if at(marker.marker.offsets, place) <= place.offset:
                return None  # its batch is still to come
            if _holds(marker, before, place):
                return _batch(marker, before)
        return None


def _holds(marker: Arrived, before: Arrived, place: Source) -> bool:
    """Tell whether a place lies in a marker's batch; `before` is the marker before it."""
    now, then = marker.marker, before.marker
    follows = (now.generation, now.batch_id) == (then.generation, then.batch_id + 1)
    return follows and at(then.offsets, place) <= place.offset < at(now.offsets, place)


def _batch(marker: Arrived, before: Arrived) -> Batch:
    """A claim, too, is a marker, with the batch of the one before it: no batch lies between."""
    now, then = marker.marker, before.marker
    commands = sum(map(sum, now.offsets.values())) - sum(map(sum, then.offsets.values()))
    return Batch(now.generation, now.batch_id, commands, after=before.at, ended=marker.at)


class Markers:
    """Follows the decider's markers, through one connection while that holds."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._feed: MarkerFeed | None = None
        self._blind = False

    def __call__(self) -> Sequence[Arrived]:
        """Return those that have arrived since; a Kafka that is away is said once."""
        try:
            if self._feed is None:
                query = decider_query(self._settings.topics, self._settings.shards)
                self._feed = MarkerFeed(kafka_of(self._settings), query, KEPT)
        except VerdictError as error:
            if not self._blind:
                LOG.warning("no spans of batches for now: %s", error)
            self._blind = True
            return ()
        self._blind = False
        return self._feed.new()[0]

    def close(self) -> None:
        """Let the connection go."""
        if self._feed is not None:
            self._feed.close()
        self._feed = None
