"""What an audit finds."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from verdict.model.source import Source


class Check(StrEnum):
    """What is looked at."""

    VERSIONS = "versions"
    CHAIN = "chain"
    LAST_HASH = "last hash"
    OUTCOMES = "outcomes"
    ARCHIVE = "archive"
    STATE = "state"
    PROJECTIONS = "read models"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is not as it was written, and where.

    `place` is that of the record, in Kafka or as the archive names it; None where there is none.
    """

    check: Check
    what: str
    aggregate_type: str | None = None
    aggregate_id: str | None = None
    version: int | None = None
    place: Source | None = None

    def facts(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "check": self.check.value,
            "aggregate_type": self.aggregate_type,
            "aggregate_id": self.aggregate_id,
            "version": self.version,
            "place": None if self.place is None else str(self.place),
            "what": self.what,
        }

    def __str__(self) -> str:
        about = [f"{self.check}:"]
        if self.aggregate_id is not None:
            about.append(f"{self.aggregate_type or 'aggregate'} {self.aggregate_id!r}")
        if self.version is not None:
            about.append(f"version {self.version}")
        if self.place is not None:
            about.append(f"at {self.place}")
        return f"{' '.join(about)}: {self.what}".replace("::", ":")


@dataclass(slots=True)
class CheckResult:
    """What an audit has looked at so far, by name, and what it has not looked at.

    `unavailable` is what should be there and is not, so that nobody knows whether it is right;
    `not_checked` is what people decided to pass over, what lies elsewhere, and what no log tells.
    """

    at: Counter[str] = field(default_factory=Counter)
    unavailable: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
