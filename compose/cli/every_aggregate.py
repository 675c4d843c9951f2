"""All aggregates of a type with their events: archived ones, then what Kafka has behind them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from heapq import merge
from itertools import groupby

from aggregates.recording import StoredEvent
from compose.cli.behind_archive import span_behind
from compose.cli.options import kafka_options
from compose.cli.output import note
from compose.configuration.settings import Settings
from compose.errors import Unreachable
from compose.kafka.log import KafkaLog
from compose.sql.archive import Archive, Placed
from compose.sql.reader import reader_of
from schemas.source import Source
from schemas.wire.records import decode_event


class EveryAggregate:
    """The aggregates of one type, as of the moment at which they are asked for.

    The archive is read page by page. What it lacks is read from Kafka first and kept in memory:
    little while the archive follows, all of it where there is no archive.

    Args:
        settings: Where archive and Kafka are.
        aggregate_type: Of the aggregates.
        parts: Takes what must be closed.
    """

    def __init__(self, settings: Settings, aggregate_type: str, parts: ExitStack) -> None:
        self._settings = settings
        self._type = aggregate_type
        self._parts = parts

    def histories(self, until: int | None = None) -> Iterator[tuple[str, Iterator[Placed]]]:
        """Yield each aggregate's id and events in order, some perhaps twice, sorted by id.

        Args:
            until: Epoch milliseconds; events that were decided later may be left out.

        Raises:
            VerdictError: Kafka has dropped what is not archived.
            Unreachable: Kafka does not answer.
        """
        archived, reached = self._archived()
        behind = sorted(self._behind(reached, until), key=_order)
        both = merge(archived, behind, key=_order)
        yield from groupby(both, key=lambda placed: placed.stored.event.aggregate_id)

    def _archived(self) -> tuple[Iterator[Placed], Mapping[int, int]]:
        try:
            archive = Archive(self._parts.enter_context(reader_of(self._settings)))
        except Unreachable as error:
            note(f"reading all events from Kafka, without an archive: {error}")
            return iter(()), {}
        standing = archive.standing(self._topic)
        return archive.every(self._type, standing.last), standing.reached

    def _behind(self, reached: Mapping[int, int], until: int | None) -> Iterator[Placed]:
        log = self._parts.enter_context(KafkaLog(kafka_options(self._settings)))
        spans = [
            span_behind(log, self._topic, number, reached.get(number, 0))
            for number in range(log.partitions(self._topic))
        ]
        for message in log.read(spans):
            value = message.value() or b""
            stored = StoredEvent(decode_event(self._type, value), value)
            place = Source(message.topic() or "", message.partition() or 0, message.offset() or 0)
            if until is None or stored.event.decided_at <= until:
                yield Placed(place, stored)

    @property
    def _topic(self) -> str:
        return self._settings.topics.events(self._type)


def _order(placed: Placed) -> tuple[str, int]:
    event = placed.stored.event
    return event.aggregate_id, event.version
