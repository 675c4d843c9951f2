"""Notices a take-over without having anything to publish."""

from verdict.exactly_once.claim import gone_back, taken_over
from verdict.exactly_once.marker_feed import MarkerFeed
from verdict.exactly_once.markers import read_marker
from verdict.exactly_once.query import Query
from verdict.kafka.access import Kafka
from verdict.wire.marker import Marker

BACK = 16  # records: somebody may have taken over since we did


class Watch:
    """Follows the markers of a query; disturbs nobody.

    An owner that is replaced is fenced, but has to try to publish to find that out. Without
    commands it would stand there for ever, and look as if it decided.
    """

    def __init__(self, kafka: Kafka, query: Query, owner: str) -> None:
        """Begin a little before the markers of now, among which may be the claim of `owner`.

        Raises:
            Unreachable: Kafka does not answer within the transaction timeout.
        """
        self._kafka = kafka
        self._query = query
        self._owner = owner
        self._last: Marker | None = None
        self._feed = MarkerFeed(kafka, query, BACK)

    def check(self) -> None:
        """Return at once while the newest marker that has arrived is the owner's.

        What goes wrong on the way is left to those who publish: they know what to do about it.

        Raises:
            TakenOver: It is somebody else's, or older than one before it.
        """
        found, whole = self._feed.new()
        for one in found:
            self._see(one.marker)
        if whole:  # else the owner's claim may be still to come
            self._compare()

    def look(self) -> None:
        """Return when the newest marker that there is now is the owner's.

        Raises:
            TakenOver: It is somebody else's, or older than one before it.
            Unreachable: Kafka does not answer.
        """
        found = read_marker(self._kafka, self._query, wait=False).marker
        if found is not None:
            self._see(found)
        self._compare()

    def close(self) -> None:
        """Let the consumer go."""
        self._feed.close()

    def _see(self, marker: Marker) -> None:
        if self._last is not None and _reached(marker) < _reached(self._last):
            raise gone_back(self._query, marker, self._last)
        self._last = marker

    def _compare(self) -> None:
        if self._last is not None and self._last.owner != self._owner:
            raise taken_over(self._query, self._last)


def _reached(marker: Marker) -> tuple[int, int]:
    return marker.generation, marker.batch_id
