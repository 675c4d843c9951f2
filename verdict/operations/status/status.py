"""What is known of a deployment at one moment, as values; None is: unknown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verdict.settings.discovery import AnnouncedService

KAFKA, DATABASE = "kafka", "database"
NOT_TOLD = {"database_url", "latencies"}  # it may hold a password; they are for a chart


class Problem(str):
    """What is wrong, in words; `part` is with what: a part of the service, `kafka`, `database`."""

    part: str

    def __new__(cls, said: str, part: str = "") -> "Problem":
        """Return the words, which know their part."""
        problem = super().__new__(cls, said)
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
    """How far a partition of commands is decided; `decided` is the next offset.

    `open_at` is where a sender's transaction stays open, if one does: what lies behind waits.
    """

    topic: str
    partition: int
    decided: int
    end: int
    lag: int
    open_at: int | None = None


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """Where somebody's transaction stays open: nobody reads from `offset` on, up to `end`."""

    topic: str
    partition: int
    offset: int
    end: int


@dataclass(frozen=True, slots=True)
class ProcessorStatus:
    """How many offsets what runs beside the decider is behind, and how many it has come by."""

    processor: str
    generation: int
    owner: str
    lag: int | None
    reached: int | None = None


@dataclass(frozen=True, slots=True)
class PositionStatus:
    """How far a partition is read; without a lag nobody knows where it ends."""

    topic: str
    partition: int
    next_offset: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class BlockedAggregateStatus:
    """What an aggregate waits for in a projection, since `found_at`.

    Without an `error` the event of `version_needed` is missing, with one it cannot be applied.
    """

    aggregate_type: str
    aggregate_id: str
    version_needed: int
    version_seen: int
    found_at: str
    error: str | None


@dataclass(frozen=True, slots=True)
class ProjectionStatus:
    """How far a version of a projection has come.

    `state` is `live`, `previous`, `candidate` or `incomplete`; only the live one follows events.
    `stopped_by` is why it is stopped.
    """

    projection: str
    version: int
    state: str
    lag: int | None
    stopped_by: str | None
    held: tuple[BlockedAggregateStatus, ...]
    positions: tuple[PositionStatus, ...]


@dataclass(frozen=True, slots=True)
class ScatteredAggregate:
    """An aggregate with commands on so many partitions."""

    aggregate_type: str
    aggregate_id: str
    partitions: int


@dataclass(frozen=True, slots=True)
class ScatteredKeys:
    """How many aggregates of the newest commands have some on several partitions, and one."""

    aggregates: int
    first: ScatteredAggregate | None


@dataclass(frozen=True, slots=True)
class QuarantinedAggregate:
    """An aggregate whose history is damaged from `version` on; its commands are rejected."""

    aggregate_type: str
    aggregate_id: str
    version: int
    error: str


@dataclass(frozen=True, slots=True)
class QuarantinedAggregates:
    """How many aggregates are quarantined, and one of them."""

    aggregates: int
    first: QuarantinedAggregate | None


@dataclass(frozen=True, slots=True)
class DeadLettersStatus:
    """How many letters wait and are parked, and how many offsets are not taken in yet."""

    waiting: int
    parked: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class PolicyRejections:
    """How many commands of a policy were rejected, with one reason and code of a rule.

    `unexpected` are those of the last 24 hours that the policy does not expect, and whose command
    was not accepted later; `newest` is the id of the newest such command.
    """

    policy: str
    reason: str
    rule_code: str | None
    rejected: int
    unexpected: int
    newest: str | None


@dataclass(frozen=True, slots=True)
class VerificationStatus:
    """When `verdict verify` last ran, and what came of it; `aggregate_type` None: of all types."""

    ended_at: str
    aggregate_type: str | None
    aggregate_id: str | None
    clean: bool
    findings: int

    @property
    def result(self) -> str:
        """What came of it, in words."""
        if self.clean:
            return "clean"
        return f"{self.findings:,} findings" if self.findings else "not all could be looked at"

    def __str__(self) -> str:
        """Say it in a line."""
        of = " ".join(filter(None, (self.aggregate_type, self.aggregate_id))) or "everything"
        return f"{self.ended_at}, {of}: {self.result}"


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The whole: service, decider, processors, projections, letters.

    A processor that never ran is not among `processors`. `problems` says what needs attention;
    that no service runs comes first. `starting` is the pid of a process that is not ready yet;
    `unreachable` whether that is Kafka or the database. `processes` are all that run on the data
    directory, with their roles; `service` is the one that decides. `events` is how many are in the
    archive; `answered` how many commands of the last minute were ACCEPTED, or rejected by reason;
    `refused` how many of these each rule refused, by its code;
    `policy_rejections` how many commands of policies were ever rejected. `verified` is the last
    run of `verdict verify`. `open_transactions` are on any topic of the deployment.
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
        """How many offsets everybody is behind together; None while one of them is unknown.

        Versions of projections that nobody sees are not waited for.
        """
        if self.commands is None or self.processors is None or self.dead_letters is None:
            return None
        decided = (one.lag for one in self.commands)
        ran = (one.lag for one in self.processors)
        shown = (one.lag for one in self.projections or () if one.state == "live")
        return total([*decided, *ran, *shown, self.dead_letters.lag])


def as_json(fact: StatusReport | ProjectionStatus) -> dict[str, Any]:
    """Return a fact as an object for JSON, without what is secret or long."""
    return asdict(fact, dict_factory=_object)


def _object(fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in fields if name not in NOT_TOLD}


def total(lags: Iterable[int | None]) -> int | None:
    """Return the lag over partitions; a negative one is not made up for by others."""
    known: list[int] = []
    for lag in lags:
        if lag is None:
            return None
        known.append(lag)
    return min(known) if min(known, default=0) < 0 else sum(known)
