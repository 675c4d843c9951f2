"""Notices a take-over without having anything to publish."""

from verdict.exactly_once.claim import taken_over
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
            TakenOver: It is somebody else's.
        """
        found, whole = self._feed.new()
        if found:
            self._last = found[-1].marker
        if whole:  # else the owner's claim may be still to come
            self._compare()

    def look(self) -> None:
        """Return when the newest marker that there is now is the owner's.

        Raises:
            TakenOver: It is somebody else's.
            Unreachable: Kafka does not answer.
        """
        found = read_marker(self._kafka, self._query, wait=False).marker
        self._last = self._last if found is None else found
        self._compare()

    def close(self) -> None:
        """Let the consumer go."""
        self._feed.close()

    def _compare(self) -> None:
        if self._last is not None and self._last.owner != self._owner:
            raise taken_over(self._query, self._last)
