"""What a process of a deployment is made of: started, looked after and stopped in one way."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Thread
from typing import Protocol

from verdict.configuration.found import database_url
from verdict.configuration.settings import Settings
from verdict.decider.coverage import decided
from verdict.decider.latency import Latencies
from verdict.decider.recovery.progress import Tell
from verdict.decider.recovery.recovering import recover_outdated
from verdict.decider.running import Deciding
from verdict.errors import TimedOut, VerdictError
from verdict.event_log.passing import require_undecided
from verdict.exactly_once.steps import OnStep
from verdict.foundation.foundation import Foundation, WithoutSpark
from verdict.kafka.reach import Reach
from verdict.lake.running import lake
from verdict.letters.retrying import Retrying
from verdict.local.broker import EmbeddedBroker
from verdict.processing.kept_going import KeptGoing, Running
from verdict.projection.database import open_database
from verdict.reactions.running import reacting
from verdict.service.read_side import project

LOOK_S = 0.5
FIRST_BATCH_S = 300.0  # not `batch_limit_s`: JVM and workers are cold, and others start beside


class Part(Protocol):
    """One of those that a process starts, in order, and stops in reverse."""

    @property
    def stopped(self) -> Mapping[str, str]:
        """What of it is stopped, and why."""
        ...

    def start(self) -> None:
        """Begin."""
        ...

    def await_ready(self, check: Callable[[], None]) -> None:
        """Return when who is told `ready` may rely on it; what `check` raises ends the wait."""
        ...

    def check(self) -> None:
        """Look after it; raise what must end the process."""
        ...

    def stop(self) -> None:
        """End it, after what is under way."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What parts are made on.

    Args:
        settings: All that can be chosen.
        laid: Kafka, and Spark for those who need it.
        reach: Whether Kafka is there.
        alone: Whether the process has one role: what ends that ends the process.
        chosen: Of read models, by name; empty: all.
        on_step: Called at each step of publishing what was decided.
        tell: Called with what a person who waits for the start may want to know.
        check_jvm: Raises why Spark's JVM ended, if it did.
        latencies: Takes in how long commands waited for their answers.
    """

    settings: Settings
    laid: Foundation | WithoutSpark
    reach: Reach
    alone: bool
    chosen: tuple[str, ...]
    on_step: OnStep
    tell: Tell
    check_jvm: Callable[[], None]
    latencies: Latencies

    @property
    def ground(self) -> Foundation:
        """What streams stand on."""
        assert isinstance(self.laid, Foundation), "a role that needs Spark says so"
        return self.laid

    def is_kafka_there(self) -> bool:
        """Tell whether Kafka has answered last."""
        return self.reach.there

    def kept_going(
        self,
        name: str,
        runs: Running,
        over: Callable[[Exception], None] = lambda _: None,
        must_begin: bool = False,
    ) -> KeptGoing:
        """Return what runs beside the decider, or somewhere else."""
        return KeptGoing(
            name=name,
            runs=runs,
            over=over,
            must_begin=must_begin,
            alone=self.alone,
            reachable=self.is_kafka_there,
            look_behind=self.check_jvm,
        )


class BrokerPart:
    """The embedded broker, which is there before all others; nothing when Kafka is elsewhere."""

    def __init__(self, stage: Stage) -> None:
        self._broker: EmbeddedBroker | None = stage.laid.broker
        self.stopped: Mapping[str, str] = {}

    def start(self) -> None:
        """Nothing is left to do."""

    def await_ready(self, check: Callable[[], None]) -> None:
        """Return at once."""

    def check(self) -> None:
        """Raise a VerdictError when it has ended."""
        if self._broker is not None:
            self._broker.check()

    def stop(self) -> None:
        """Leave it to who has started it: the others still need it."""


class DeciderPart:
    """The decider, on a state in the format of today's rules."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._held = ExitStack()
        self._rehearsal: Future[None] = Future()
        ground, settings = stage.ground, stage.settings
        self._deciding = Deciding(
            ground, settings, stage.on_step, stage.is_kafka_there, stage.latencies
        )

    @property
    def stopped(self) -> Mapping[str, str]:
        """It, while it waits for Kafka or a worker; else it does not stop without an end."""
        return self._deciding.stopped

    def start(self) -> None:
        """Become the owner, begin to decide, and send an empty batch through the operator."""
        stage = self._stage
        _require_undecided(stage.ground, stage.settings)
        recover_outdated(stage.ground, stage.settings, stage.tell)
        self._held.callback(self._deciding.stop)
        self._deciding.start()
        Thread(target=self._rehearse, name="rehearsal", daemon=True).start()  # it may never end

    def await_ready(self, check: Callable[[], None]) -> None:
        """Return when the operator's workers are known to connect."""
        await_rehearsal(self._rehearsal, check, FIRST_BATCH_S)

    def _rehearse(self) -> None:
        try:
            self._deciding.rehearse()
        except BaseException as error:
            self._rehearsal.set_exception(error)
        else:
            self._rehearsal.set_result(None)

    def check(self) -> None:
        """Raise what has ended it."""
        self._deciding.check()

    def stop(self) -> None:
        """End after the batch that is under way."""
        self._held.close()


def await_rehearsal(rehearsal: Future[None], check: Callable[[], None], limit_s: float) -> None:
    """Return when the empty batch has been through; raises what it, or `check`, does.

    Raises:
        TimedOut: It is under way for longer than `limit_s`.
    """
    deadline = time.monotonic() + limit_s
    while not wait([rehearsal], LOOK_S).done:
        check()
        if time.monotonic() >= deadline:
            raise TimedOut(
                f"the first batch, an empty one, has not come through in {limit_s:g} s: "
                "see spark/spark.log; Python workers are frozen, or the machine has too much to "
                "do; nothing is lost, start again"
            )
    rehearsal.result()


def _require_undecided(ground: Foundation, settings: Settings) -> None:
    """Raise a VerdictError when undecided commands are gone: Spark would find out after `ready`."""
    if ground.marker is not None:
        require_undecided(ground.kafka, settings.topics.every_commands(), ground.marker.offsets)


class LettersPart(Retrying):
    """The retry of dead letters; alone, it ends when one of its threads does."""

    def __init__(self, stage: Stage) -> None:
        settings = stage.settings
        self._is_alone = stage.alone
        super().__init__(
            open_database(database_url(settings)),
            stage.laid.kafka,
            settings.topics,
            attempts=settings.retry_attempts,
            backoff=settings.retry_backoff,
            allowed=settings.retry_topics,
            poll_s=settings.retry_poll_ms / 1000,
        )

    def check(self) -> None:
        """Raise why a thread has stopped, if nobody else is in the process."""
        if self._is_alone and self.stopped:
            raise VerdictError("; ".join(f"the {n} stopped: {w}" for n, w in self.stopped.items()))


def reactions_part(stage: Stage) -> Part:
    """Return what follows from events; a policy that is added begins now."""
    ground, topics = stage.ground, stage.settings.topics
    known = () if ground.marker is None else decided(ground.marker, topics)
    processor = reacting(ground, stage.settings, with_history=[*map(topics.events, known)])
    return stage.kept_going("reactions", processor)


def lake_part(stage: Stage) -> Part:
    """Return what writes the application's lake."""
    table = stage.settings.application.lake
    assert table is not None, "there is no such role without one"
    return stage.kept_going("lake", lake(stage.ground, stage.settings, table))


def read_models_part(stage: Stage) -> Part:
    """Return what brings read models forward; who cannot even begin does not run."""
    projecting = project(stage.ground, stage.settings, stage.chosen)
    return stage.kept_going("projections", projecting, over=projecting.note_end, must_begin=True)
