"""What a version of a projection is there for."""

from enum import StrEnum


class VersionState(StrEnum):
    """What a version is there for."""

    BUILDING = "building"  # its tables are a torso
    BUILT = "built"  # its tables hold all that they should, up to the position
    LIVE = "live"  # readers see it
    KEPT = "kept"  # they saw it before the live one, and may see it again


UNSEEN = (VersionState.BUILDING, VersionState.BUILT)
