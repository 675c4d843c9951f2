"""How far a rebuild or a promotion is: for people who wait, and for tests that kill it there."""

from collections.abc import Callable
from enum import StrEnum


class BuildStep(StrEnum):
    """A moment in the life of a version; what is named has just happened."""

    BEGUN = "begun"
    WRITTEN = "written"  # some of the rows
    BUILT = "built"
    LEVEL = "level"  # it stood where the live one stands
    SWITCHED = "switched"  # not committed yet
    SWAPPED = "swapped"


OnStep = Callable[[BuildStep], None]
Tell = Callable[[str], None]
