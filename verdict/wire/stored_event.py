"""An event with the bytes of its record, and the error of a damaged history."""

from typing import NamedTuple

from verdict.model.recorded_event import RecordedEvent


class StoredEvent(NamedTuple):
    """An event and the bytes that the next event's `previous_hash` is taken of."""

    event: RecordedEvent
    value: bytes


class InvalidHistoryError(Exception):
    """A history is damaged: events do not follow on each other, or the rules cannot fold one.

    `version` is the first damaged one; None if the record does not tell.
    """

    def __init__(self, problem: str, version: int | None = None) -> None:
        super().__init__(problem)
        self.version = version
