"""What a person decided about records that are beyond repair."""

from dataclasses import dataclass
from typing import Any

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


def lost_by(aggregate_type: str, aggregate_id: str, version: int, *rest: Any) -> Decision:
    """Return the decision by which an aggregate is lost up to a version.

    Args:
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
        version: The last one that is lost.
        rest: Topic, partition and offset where its events ended; who decided it, why, and when, in
            epoch milliseconds.
    """
    topic, partition, offset, who, why, decided_at = rest
    return Decision(
        source=Source(topic, partition, offset),
        until=offset,
        who=who,
        why=why,
        decided_at=decided_at,
        lost=Lost(aggregate_type, aggregate_id, version),
    )
