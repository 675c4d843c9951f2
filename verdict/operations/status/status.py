"""The status of a deployment at one moment, as values; None means unknown."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from verdict.settings.discovery import AnnouncedService

KAFKA, DATABASE = "kafka", "database"
NOT_TOLD = {"database_url", "latencies"}  # one may hold a password, the others are for a chart


class Problem(str):
    """A sentence about what is wrong; `part` names a component, `kafka`, `database` or nothing."""

    part: str

    def __new__(cls, text: str, part: str = "") -> "Problem":
        problem = super().__new__(cls, text)
        problem.part = part
        return problem


@dataclass(frozen=True, slots=True)
class DeciderStatus:
    """What the decider's progress record says of it."""

    owner: str
    generation: int
    batch_id: int
    shards: int
    handler_version: str


@dataclass(frozen=True, slots=True)
class CommandsStatus:
    """How far a partition of commands is decided; `decided` is the next offset."""

    topic: str
    partition: int
    decided: int
    end: int
    lag: int


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that stays open: readers wait at `offset`, and the partition goes to `end`."""

    topic: str
    partition: int
    offset: int
    end: int


@dataclass(frozen=True, slots=True)
class ProcessorStatus:
    """How far a query without state (policies, lake) has come."""

    processor: str
    generation: int
    owner: str
    lag: int | None
    reached: int | None = None


@dataclass(frozen=True, slots=True)
class PositionStatus:
    """How far a partition is read; without a lag its end is unknown."""

    topic: str
    partition: int
    next_offset: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class BlockedAggregateStatus:
    """What an aggregate waits for in a projection, since `found_at`.

    The event of `version_needed` cannot be applied because of `error`; without one it is missing.
    """

    aggregate_type: str
    aggregate_id: str
    version_needed: int
    version_seen: int
    found_at: str
    error: str | None


@dataclass(frozen=True, slots=True)
class ProjectionStatus:
    """How far a version of a projection has come; only the live one follows events."""

    projection: str
    version: int
    state: str
    lag: int | None
    stopped_by: str | None
    held: tuple[BlockedAggregateStatus, ...]
    positions: tuple[PositionStatus, ...]


@dataclass(frozen=True, slots=True)
class ScatteredKeys:
    """How many aggregates of the newest commands have some on several partitions, and the first."""

    aggregates: int
    aggregate_type: str | None = None
    aggregate_id: str | None = None
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class QuarantinedAggregates:
    """How many aggregates are quarantined, and the first, which is damaged from `version` on."""

    aggregates: int
    aggregate_type: str | None = None
    aggregate_id: str | None = None
    version: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLettersStatus:
    """How many dead letters wait and are parked, and how many offsets are not stored yet."""

    waiting: int
    parked: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class PolicyRejections:
    """How many commands of a policy were rejected, with one reason and code of a rule.

    `unexpected` are those that need attention; `newest` is the id of the newest such command.
    """

    policy: str
    reason: str
    rule_code: str | None
    rejected: int
    unexpected: int
    newest: str | None


@dataclass(frozen=True, slots=True)
class VerificationStatus:
    """The last run of `verdict verify`; `aggregate_type` is None if it was of all types."""

    ended_at: str
    aggregate_type: str | None
    aggregate_id: str | None
    clean: bool
    findings: int

    @property
    def result(self) -> str:
        """`clean`, or how much was found."""
        if self.clean:
            return "clean"
        return f"{self.findings:,} findings" if self.findings else "not all could be looked at"

    def __str__(self) -> str:
        of = " ".join(filter(None, (self.aggregate_type, self.aggregate_id))) or "everything"
        return f"{self.ended_at}, {of}: {self.result}"


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The whole status of a deployment.

    `problems` is what needs attention; that no service runs comes first. `unreachable`: Kafka or
    the database does not answer. `processes` are all that run on the data directory, `service` is
    the one that decides, `starting` the pid of one that is not ready yet. `processors` are those
    that ever ran. `events` counts the archive. `answered` counts the outcomes of the last minute,
    ACCEPTED or by reason; `refused` those of rules, by their code.
    """

    service: AnnouncedService | None
    data_dir: Path
    decider: DeciderStatus | None = None
    commands: tuple[CommandsStatus, ...] | None = None
    processors: tuple[ProcessorStatus, ...] | None = None
    projections: tuple[ProjectionStatus, ...] | None = None
    quarantines: QuarantinedAggregates | None = None
    scattered: ScatteredKeys | None = None
    dead_letters: DeadLettersStatus | None = None
    problems: tuple[Problem, ...] = ()
    unreachable: bool = False
    processes: tuple[AnnouncedService, ...] = ()
    events: int | None = None
    answered: Mapping[str, int] | None = None
    refused: Mapping[str, int] | None = None
    policy_rejections: tuple[PolicyRejections, ...] | None = None
    verified: VerificationStatus | None = None
    open_transactions: tuple[OpenTransaction, ...] = ()
    starting: int | None = None

    @property
    def lag(self) -> int | None:
        """How many offsets all components are behind together; None while one is unknown."""
        if self.commands is None or self.processors is None or self.dead_letters is None:
            return None
        decided = (one.lag for one in self.commands)
        ran = (one.lag for one in self.processors)
        shown = (one.lag for one in self.projections or () if one.state == "live")
        return total([*decided, *ran, *shown, self.dead_letters.lag])


def as_json(status: StatusReport | ProjectionStatus) -> dict[str, object]:
    """Return an object for JSON, without what is secret or long."""
    return asdict(
        status,
        dict_factory=lambda fields: {one: value for one, value in fields if one not in NOT_TOLD},
    )


def total(lags: Iterable[int | None]) -> int | None:
    """Return the sum of lags, or the least one if that is negative; None if one is unknown."""
    every = [*lags]
    known = [lag for lag in every if lag is not None]
    if len(known) < len(every):
        return None
    return min(known) if min(known, default=0) < 0 else sum(known)
