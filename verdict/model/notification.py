"""What a notification is, as a value: an event of ours, told to others in words of theirs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from verdict.model.recorded_event import RecordedEvent


@dataclass(frozen=True, slots=True)
class Notification:
    """Whenever this happened, others are told on their topic, once per event.

    Args:
        name: Of the notification, for people.
        follows: The aggregate types whose events it looks at.
        topic: Which topic takes it, without the prefix of a deployment; nobody else writes to it.
        tell: event → what is told, as values that JSON can carry, or None for nothing; pure.
    """

    name: str
    follows: tuple[str, ...]
    topic: str
    tell: Callable[[RecordedEvent], dict[str, Any] | None]
