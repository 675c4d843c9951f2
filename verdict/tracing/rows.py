"""When read models had an event: their positions, looked at again and again from outside.

Rows hold no time of their own, since a rebuild gives the same ones.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from opentelemetry.sdk.trace import ReadableSpan

from verdict.configuration.settings import Settings
from verdict.database.address import parse
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.projection.declared import projections
from verdict.reading.reader import Reader, Sees, reader_of
from verdict.tracing.spans import place_of, span_of_rows

LOG = logging.getLogger("verdict.tracing")
KEPT = 120  # looks
APART_NS = 5 * 10**9  # looks that are further apart tell of no moment
MOST = 10_000  # events that wait at once; of more, the oldest are let go
PATIENCE_NS = 600 * 10**9

REACHED = """\
SELECT p.projection, p.topic, p."partition", p.next_offset FROM projection_position p
JOIN projection_live l ON l.projection = p.projection AND l.version = p.version"""

Reached = Mapping[tuple[str, str, int], int]  # read model, topic, partition: next offset


class Look(NamedTuple):
    """What was seen at one moment, in nanoseconds of Unix time."""

    at: int
    reached: Reached

    def is_past(self, model: str, place: Source) -> bool:
        """Return whether a read model is past a place."""
        return self.reached.get((model, place.topic, place.partition), 0) > place.offset


@dataclass(slots=True)
class Waiting:
    """An event, and the read models that were not seen to be past it."""

    place: Source
    span: ReadableSpan
    since: int  # nanoseconds of Unix time
    models: list[str]


class Rows:
    """The spans of the rows of events that are traced.

    Args:
        models: Names of the read models by the topic of events that they follow.
        reached: Tells how far they have come.
        clock: Nanoseconds of Unix time.
    """

    def __init__(
        self,
        models: Mapping[str, Collection[str]],
        reached: Callable[[], Reached],
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._models = models
        self._reached = reached
        self._clock = clock
        self._looks: deque[Look] = deque(maxlen=KEPT)
        self._waiting: deque[Waiting] = deque(maxlen=MOST)
        self._blind = False

    def look(self) -> None:
        """See how far the read models have come; a read side that is away is said once."""
        try:
            reached = self._reached()
        except VerdictError as error:
            if not self._blind:
                LOG.warning("no spans of rows for now: %s", error)
            self._blind = True
        else:
            if self._blind:
                LOG.warning("spans of rows are sent again")
            self._blind = False
            self._looks.append(Look(self._clock(), reached))

    def wait_for(self, event: ReadableSpan) -> None:
        """Wait for the rows of an event.

        Args:
            event: Its span.
        """
        place = place_of(event)
        models = sorted(self._models.get(place.topic, ()))
        self._waiting.append(Waiting(place, event, self._clock(), models))

    def passed(self) -> Iterator[ReadableSpan]:
        """Yield the spans of rows that have come since, and of those that are late.

        What a read model was past before it was ever looked at, or while nobody could look, has
        none: nobody knows when.
        """
        if not self._looks:
            return
        for _ in range(len(self._waiting)):
            waiting = self._waiting.popleft()
            yield from self._of(waiting)
            if waiting.models:
                self._waiting.append(waiting)

    def _of(self, waiting: Waiting) -> Iterator[ReadableSpan]:
        newest = self._looks[-1]
        late = newest.at - waiting.since > PATIENCE_NS
        for model in [*waiting.models]:
            if newest.is_past(model, waiting.place):
                waiting.models.remove(model)
                if seen := self._seen(model, waiting.place):
                    yield span_of_rows(waiting.span, model, seen)
            elif late:
                waiting.models.remove(model)
                yield span_of_rows(waiting.span, model, None)

    def _seen(self, model: str, place: Source) -> int | None:
        for before, look in pairwise(self._looks):
            if look.is_past(model, place):
                known = not before.is_past(model, place) and look.at - before.at <= APART_NS
                return look.at if known else None
        return None


def rows_of(settings: Settings) -> Rows:
    """Return what sees the rows of a deployment, if it has a read side.

    Args:
        settings: Of the deployment; asked as a reader.

    Raises:
        VerdictError: The database that is set can be none of verdict's.
    """
    if settings.database_url:
        parse(settings.database_url.get_secret_value())
    models: dict[str, set[str]] = {}
    for model in projections(settings.chosen):
        for topic in model.topics(settings.topics):
            models.setdefault(topic, set()).add(model.name)
    return Rows(models, Positions(settings))


class Positions:
    """Asks the read side how far its read models are, through one connection while that holds."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._reader: Reader | None = None

    def __call__(self) -> Reached:
        """Return it.

        Raises:
            VerdictError: The read side cannot be asked.
        """
        try:
            self._reader = self._reader or reader_of(self._settings, Sees.READER)
            rows = self._reader.select(REACHED).rows
            return {(model, topic, number): offset for model, topic, number, offset in rows}
        except VerdictError:
            self.close()
            raise

    def close(self) -> None:
        """Give the connection back."""
        if self._reader is not None:
            self._reader.close()
        self._reader = None
