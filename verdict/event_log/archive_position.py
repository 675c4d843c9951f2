"""Where the events of a global position or a time end, by what the archive knows."""

from typing import Any

from verdict.errors import VerdictError
from verdict.model.message import iso_time
from verdict.reading.reader import Reader
from verdict.wire.spans import Partition

LAST = "SELECT max(global_position) FROM event_archive"
REACHED = """
SELECT min(next_offset) FROM projection_position
WHERE projection = 'event_archive' AND topic = :topic AND "partition" = :partition
"""
# an index lists a partition's offsets, and those that were asked for are mostly the newest
UP_TO = """
SELECT "offset" FROM event_archive
WHERE topic = :topic AND "partition" = :partition AND {condition}
ORDER BY "offset" DESC LIMIT 1
"""
AT_POSITION = UP_TO.format(condition="global_position <= :limit")
AT_TIME = UP_TO.format(condition="decided_at <= :limit")


class NoSuchPosition(VerdictError):
    """The archive has not come that far."""

    def __init__(self, asked: int, last: int) -> None:
        super().__init__(
            f"there is no global position {asked} yet, the archive ends at {last}: ask for one up "
            "to that, or see in `verdict status` how far event_archive is behind"
        )


class ArchivePosition:
    """Asks the archive for offsets; those of a partition are archived in their order."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def see_that_it_reaches(self, position: int) -> None:
        """Return when that many events are archived.

        Raises:
            NoSuchPosition: They are not.
        """
        last = int(self._value(LAST) or 0)
        if position > last:
            raise NoSuchPosition(position, last)

    def reached(self, place: Partition) -> int:
        """Return the offset up to which all events of a partition are archived."""
        return int(self._value(REACHED, **place._asdict()) or 0)

    def end_at_position(self, place: Partition, position: int) -> int:
        """Return the offset behind the last event up to a global position."""
        return self._behind(AT_POSITION, place, position)

    def end_at_time(self, place: Partition, millis: int) -> int:
        """Return the offset behind the last event that was decided at that time or before."""
        return self._behind(AT_TIME, place, iso_time(millis))

    def _behind(self, statement: str, place: Partition, limit: int | str) -> int:
        found = self._value(statement, **place._asdict(), limit=limit)
        return 0 if found is None else int(found) + 1

    def _value(self, statement: str, **parameters: Any) -> Any:
        """Return the only value of the only row, None when there is no row."""
        rows = [*self._reader.select(statement, parameters).rows]
        return rows[0][0] if rows else None
