"""Where the dispatch stands, for tests that kill it there."""

from collections.abc import Callable
from enum import StrEnum, auto


class LetterStep(StrEnum):
    """A moment in the life of a batch of letters; what is named has just happened."""

    CLAIMED = auto()  # nobody else sends them; nothing is sent yet
    SENT = auto()  # Kafka has them for good, the table does not know
    REMOVED = auto()  # the table knows


OnStep = Callable[[LetterStep], None]
