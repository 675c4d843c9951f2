"""What a version of a projection is there for."""

from enum import StrEnum


class VersionState(StrEnum):
    """What a version is there for."""

    INCOMPLETE = "incomplete"  # a build has begun to fill its tables
    CANDIDATE = "candidate"  # its tables are complete up to its position; readers do not see them
    LIVE = "live"  # readers see it
    PREVIOUS = "previous"  # readers saw it before the live one, and may see it again


UNSEEN = (VersionState.INCOMPLETE, VersionState.CANDIDATE)
