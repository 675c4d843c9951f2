"""States of projection versions and of dead letters; imports no SQLAlchemy."""

from enum import StrEnum
from typing import NamedTuple


class VersionState(StrEnum):
    """What a version of a projection is for."""

    INCOMPLETE = "incomplete"  # a build has begun to fill its tables
    CANDIDATE = "candidate"  # its tables are complete up to its position; readers do not see them
    LIVE = "live"  # readers see it
    PREVIOUS = "previous"  # readers saw it before the live one, and may see it again


UNSEEN = (VersionState.INCOMPLETE, VersionState.CANDIDATE)


class _Consumer(NamedTuple):
    name: str = "dead-letters"
    version: int = 1


FOLLOWER = _Consumer()  # the position in `dead-letters` is kept under this name
WAITING = "WAITING"  # a dead letter that waits for its next try
PARKED = "PARKED"  # a dead letter that waits for an operator
