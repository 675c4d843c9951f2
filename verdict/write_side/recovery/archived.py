"""Events that Kafka has dropped, out of the archive: the fold begins with them.

Each row is held against its hash, and the fold holds each event against the one before it, so an
archive of another log is found.
"""

from collections.abc import Iterator
from pathlib import Path

from verdict.adapters.sql.readers.reader import open_reader
from verdict.errors import VerdictError
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.parquet import write_parquet
from verdict.streaming.event_log.record import RawRecord
from verdict.wire.partitions import Spans


def require_archived(settings: Settings, dropped: Spans) -> None:
    """Return if the archive has all events in these spans, which Kafka has dropped.

    Raises:
        VerdictError: It does not. Kafka has dropped responses, too, so nothing tells whose events
            are missing, and an aggregate might begin again at version 0.
        UnreachableError: The database does not answer.
    """
    needed = {place: span.end for place, span in dropped.items() if span.end > span.start}
    if not needed:
        return
    with open_reader(settings) as reader:
        reached = Archive(reader).standing().reached
    if lacking := [f"{p} up to {end}" for p, end in needed.items() if reached.get(p, 0) < end]:
        raise VerdictError(
            f"Kafka dropped events that the archive does not have ({', '.join(lacking)}), and "
            "responses, which would tell to whom they belong. The state was not changed: bring "
            "back the topics of events or of responses from a backup, or name the database that "
            "has archived the events with --database-url"
        )


def write_archived(settings: Settings, spans: Spans, file: Path) -> Path | None:
    """Write the archived events in `spans` into `file`; None if the spans are empty.

    Raises:
        HashMismatchError: A row of the archive is not what was archived.
        UnreachableError: The database does not answer.
    """
    if not any(span.end > span.start for span in spans.values()):
        return None
    with open_reader(settings) as reader:
        write_parquet(_archived(Archive(reader), spans), file)
    return file


def _archived(archive: Archive, spans: Spans) -> Iterator[RawRecord]:
    for place, span in spans.items():
        for row in archive.rows(*place, span.start, span.end):
            yield row.laid()
