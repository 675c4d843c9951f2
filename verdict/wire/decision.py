"""What a person decided about records that are beyond repair."""

from dataclasses import dataclass

from verdict.model.message import Instant
from verdict.model.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Places of a partition are passed over, for ever and by whoever reads there.

    They begin at `source` and end before the offset `until`. `who` decided it, `why` and when.
    """

    source: Source
    until: int
    who: str
    why: str
    decided_at: Instant
