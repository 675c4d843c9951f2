"""Events that Kafka has dropped, out of the archive: the fold begins with them.

Each row is held against its hash, and the fold holds each event against the one before it, so an
archive of another log is found.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from verdict.configuration.settings import Settings
from verdict.errors import Unreachable
from verdict.event_log.archive import Archive
from verdict.event_log.laid_file import write_laid
from verdict.event_log.placed import Laid
from verdict.kafka.offsets import Offsets
from verdict.reading.reader import reader_of
from verdict.wire.passed_over import PassedOver
from verdict.wire.spans import Partition, Spans

LOG = logging.getLogger("verdict.recovery")


def archived_up_to(settings: Settings, begins: Offsets) -> Offsets:
    """Return how far the archive goes, of topics of events from which Kafka has dropped some.

    Args:
        settings: Where the read side is.
        begins: The first offset that Kafka has of each partition, by topic of events.
    """
    dropped = {topic: firsts for topic, firsts in begins.items() if any(firsts)}
    reached: Mapping[Partition, int] = {}
    if dropped:
        try:
            with reader_of(settings) as reader:
                reached = Archive(reader).standing().reached
        except Unreachable as error:  # without an archive they are lost, which the caller says
            LOG.warning("there is no archive: %s", error)
    return {
        topic: [reached.get(Partition(topic, number), 0) for number in range(len(firsts))]
        for topic, firsts in dropped.items()
    }


def lay_archived(settings: Settings, spans: Spans, without: PassedOver, file: Path) -> Path | None:
    """Write the events that lie in `spans` into `file`; None when none of them count.

    Args:
        settings: Where the read side is.
        spans: Of the topics of events.
        without: Places that do not count: what is lost for good is among them.
        file: Where to.

    Raises:
        Altered: A row of the archive is not what was archived.
        Unreachable: The database does not answer.
    """
    if not any(span.end > span.start for span in spans.values()):
        return None
    try:
        with reader_of(settings) as reader:
            write_laid(_archived(Archive(reader), spans), file)
    except Unreachable:
        if all(without.reached(place, span) >= span.end for place, span in spans.items()):
            return None  # that nobody has them is accepted
        raise
    return file


def _archived(archive: Archive, spans: Spans) -> Iterator[Laid]:
    for place, span in spans.items():
        for row in archive.rows(*place, span.start, span.end):
            yield row.laid()
