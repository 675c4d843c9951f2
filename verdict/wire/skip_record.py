"""What an operator decided about records or an aggregate, on the skips topic."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from verdict.model.message import Instant, OpenEnum
from verdict.model.source import Source


class Kind(StrEnum):
    """What was decided."""

    SKIPPED = "SKIPPED"
    """Readers leave out the records from `source` up to `until_offset`."""

    QUARANTINED = "QUARANTINED"
    """The decider goes on without an aggregate, whose history is damaged."""

    LIFTED = "LIFTED"
    """The history of a quarantined aggregate is whole again."""

    RESTORED = "RESTORED"
    """Events were appended to their topic again, from the archive."""

    ACCEPTED = "ACCEPTED"
    """A changed or new topic or partition is used as it is."""


@dataclass(frozen=True, slots=True)
class DamagedAggregate:
    """An aggregate with a damaged history.

    Args:
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
        version: The first version that is damaged.
        last_version: The greatest version that is known of.
        error: What is wrong.
    """

    aggregate_type: str
    aggregate_id: str
    version: int
    last_version: int
    error: str

    @property
    def key(self) -> tuple[str, str]:
        """Type and id."""
        return self.aggregate_type, self.aggregate_id

    def __str__(self) -> str:
        return f"{self.aggregate_type} {self.aggregate_id!r} from version {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRecord:
    """A decision with who made it, why and when.

    `source` is the first record that it is about, and `until_offset` the offset
    after the last one. A decision about a quarantine names the aggregate; its source is where the
    damage shows.
    """

    source: Source
    until_offset: int
    operator: str
    reason: str
    decided_at: Instant
    kind: Annotated[Kind, OpenEnum()] = Kind.SKIPPED
    aggregate: DamagedAggregate | None = None


Quarantines = Mapping[tuple[str, str], SkipRecord]
"""By aggregate type and id, the decision by which an aggregate is quarantined now."""


def active_quarantines(decisions: Iterable[SkipRecord]) -> Quarantines:
    """Return the quarantines that no later decision has lifted."""
    active: dict[tuple[str, str], SkipRecord] = {}
    for one in decisions:
        if one.aggregate is None:
            continue
        if one.kind is Kind.QUARANTINED:
            active[one.aggregate.key] = one
        elif one.kind is Kind.LIFTED:
            active.pop(one.aggregate.key, None)
    return active
