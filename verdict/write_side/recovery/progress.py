"""What a recovery tells while it works."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from pyspark import SparkContext

from verdict.write_side.recovery.tasks import Taken

EVERY_S = 0.5

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredState:
    """What a recovery found, and what it made of it."""

    generation: int
    shards: int
    events: int
    aggregates: int
    remembered: int
    seconds: float
    quarantined: int = 0
    lifted: int = 0

    def facts(self) -> dict[str, int | float]:
        """Return all of it for programs."""
        return asdict(self)

    def __str__(self) -> str:
        quarantines = ""
        if self.quarantined or self.lifted:
            quarantines = (
                f"{self.quarantined:,} quarantined and {self.lifted:,} quarantines lifted, "
            )
        return (
            f"generation {self.generation} with {self.shards} shards: {self.events:,} events of "
            f"{self.aggregates:,} aggregates, {self.remembered:,} remembered command ids, "
            f"{quarantines}in {self.seconds:.1f} s"
        )


class RecoveryCounts:
    """How far the workers have come; they add to it whenever a task ends."""

    def __init__(self, context: SparkContext) -> None:
        self.taken = Taken(*(context.accumulator(0) for _ in Taken._fields))

    def begin_anew(self) -> None:
        """Forget what was counted."""
        for count in self.taken:
            count.value = 0

    def __str__(self) -> str:
        events, aggregates, responses = (count.value for count in self.taken)
        return f"{events:,} events of {aggregates:,} aggregates, {responses:,} responses read"


@contextmanager
def progress_text(tell: Tell, what: str, so_far: object) -> Iterator[None]:
    """Tell again and again what is done, how far it has come and how long it took."""
    done, began = threading.Event(), time.monotonic()

    def telling() -> None:
        while True:
            tell(f"{what}: {so_far}, {time.monotonic() - began:.0f} s")
            if done.wait(EVERY_S):
                return

    teller = threading.Thread(target=telling, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
