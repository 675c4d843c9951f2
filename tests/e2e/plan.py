"""What a campaign does to a service, one misfortune after the other; all of it from the seed."""

from dataclasses import dataclass
from enum import StrEnum
from random import Random

from verdict.streaming.exactly_once.failpoints import Failpoint

FATAL = (
    Failpoint.CLAIMED,
    Failpoint.OUTPUT_COMPUTED,
    Failpoint.TRANSACTION_OPEN,
    Failpoint.BEFORE_COMMIT,
    Failpoint.COMMITTED,
)
UP_TO_S = 12.0  # after the service is ready
AWAY_S = 8.0  # how long a broker is away at most


class Kind(StrEnum):
    """A kind of misfortune."""

    KILL_AT_STEP = "service killed at a step"
    KILL = "service killed at random"
    BROKER_STOPPED = "broker stopped and started"
    BROKER_KILLED = "broker killed and started"
    BROKER_PAUSED = "broker paused"
    BOTH_KILLED = "service and broker killed"
    COPY_LOST = "service killed, local copy of the state deleted"
    COPY_GARBLED = "service killed, local copy of the state garbled"
    JVM_KILLED = "Spark's JVM killed"
    PROJECTIONS_KILLED = "a process of projections killed"
    DISK_FULL = "nothing can be written any more"


# kills are what happens most; every kind comes up in a campaign of a few dozen
WEIGHTS = dict.fromkeys(Kind, 1) | {Kind.KILL_AT_STEP: 6, Kind.KILL: 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfortune:
    """One of them.

    `step` is reached for the `nth` time in a kill at a step; all others come `after_s` seconds of
    work, and a broker is away for `away_s`.
    """

    kind: Kind
    step: Failpoint
    nth: int
    after_s: float
    away_s: float

    def __str__(self) -> str:
        if self.kind is Kind.KILL_AT_STEP:
            return f"{self.kind}: {self.step}, time {self.nth}"
        away = f", for {self.away_s:.1f} s" if "broker" in self.kind else ""
        return f"{self.kind}, after {self.after_s:.1f} s{away}"


def plan(random: Random, count: int) -> list[Misfortune]:
    """Return `count` misfortunes; the same for the same seed, and a shorter plan begins alike."""
    kinds, weights = list(WEIGHTS), list(WEIGHTS.values())
    found = []
    for _ in range(count):
        [kind], step = random.choices(kinds, weights), random.choice(FATAL)
        found.append(
            Misfortune(
                kind=kind,
                step=step,
                nth=1 if step is Failpoint.CLAIMED else random.randint(1, 12),
                after_s=random.uniform(0, UP_TO_S),
                away_s=random.uniform(0, AWAY_S),
            )
        )
    return found
