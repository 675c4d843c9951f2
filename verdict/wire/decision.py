"""What a person decided about records that are beyond repair."""

from dataclasses import dataclass

from verdict.model.message import Instant
from verdict.model.source import Source


@dataclass(frozen=True, slots=True)
class Lost:
    """An aggregate of which nobody can tell what it is: up to `version` it counts as deleted."""

    aggregate_type: str
    aggregate_id: str
    version: int


DROPPED = Lost("", "", 0)
"""Of no aggregate: Kafka had dropped what lay at the places; where it is found again, it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Places of a partition are passed over, for ever and by whoever reads there.

    They begin at `source` and end before the offset `until`. With nothing between the two it tells
    of an aggregate that is `lost`, at the place where its events end: of no other may versions be
    missing. Places that Kafka had dropped have `DROPPED` in its place. `who` decided it, `why` and
    when.
    """

    source: Source
    until: int
    who: str
    why: str
    decided_at: Instant
    lost: Lost | None = None

    @property
    def aggregate(self) -> Lost | None:
        """The aggregate that is lost by it, if it is about one."""
        return None if self.lost == DROPPED else self.lost
